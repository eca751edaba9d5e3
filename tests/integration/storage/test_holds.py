"""Holds in rows, and that no intent is written after a hold on one of its nodes was placed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged, NodesFailed
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.holds import OVERRIDDEN, Hold, HoldClass, HoldId, HoldKind, NodeWork, work_on
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.holds import NewHold, PlacedHold
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store
from tests.factories import group, strategy
from tests.waiting import PATIENCE

Create = Callable[..., ActionId]

N1, N2 = NodeName("n1"), NodeName("n2")
NOW = datetime.now(UTC) + timedelta(days=1)
PAST = datetime.now(UTC) - timedelta(days=1)
WORK = NodeWork.OTHER
INTENT = Intent(Marker("m-1"), {"v": 1}, NOW, NOW, NOW, 1, touches=(N1,))


def place(store: Store, node: NodeName = N1, reason: str = "disk", until: datetime | None = None) -> PlacedHold:
    with store.begin() as tx:
        return tx.holds.place(NewHold(node, HoldKind.OPERATOR, reason, "ann", until))


def active(store: Store, nodes: list[NodeName] | None = None) -> list[Hold]:
    with store.begin() as tx:
        return list(tx.holds.active(nodes))


def claimed(store: Store, action: ActionId) -> Claim:
    with store.begin() as tx:
        claim = tx.turns.claim(action, now=NOW, worker="w1")
        assert claim is not None
        return tx.turns.start_step(claim, {"v": 1}, now=NOW)


def test_several_holds_on_a_node_end_one_by_one(store: Store) -> None:
    first, second, other = (place(store).hold, place(store, reason="fan").hold, place(store, N2).hold)
    expired = place(store, until=PAST).hold

    assert active(store) == [first, second, other]
    assert active(store, [N2]) == [other]
    with store.begin() as tx:
        released = tx.holds.release(first.id, "bob")
        assert released is not None
        assert (released.released_by, released.released_at is not None) == ("bob", True)
        assert tx.holds.release(first.id, "eve") == released
        assert tx.holds.release(expired.id, "eve") == expired
        assert tx.holds.release(HoldId("nothing"), "eve") is None
        assert list(tx.holds.latest([N1], limit=2)) == [expired, second]
        assert list(tx.holds.latest(limit=9)) == [expired, other, second, released]
    assert active(store) == [second, other]


def test_the_same_hold_is_placed_once(store: Store) -> None:
    first, again = place(store, until=NOW), place(store, until=NOW)

    assert again == first
    assert place(store, until=NOW + timedelta(hours=1)).hold != first.hold


def test_an_action_is_held_unless_it_overrides_the_hold(store: Store, engine: sa.Engine, create: Create) -> None:
    hold, action = place(store).hold, create("a")
    claim = claimed(store, action)

    with store.begin() as tx:
        assert tx.turns.held(claim, [N1, N2], WORK) == [hold]
        assert tx.turns.held(claim, [N2], WORK) == []
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(inputs={"v": 1, OVERRIDDEN: [hold.id]}))
    with store.begin() as tx:
        assert tx.turns.held(claim, [N1], WORK) == []
    later = place(store, reason="fan").hold
    with store.begin() as tx:
        assert tx.turns.held(claim, [N1], WORK) == [later]


@pytest.mark.parametrize("hold_class", list(HoldClass), ids=lambda one: one.value)
def test_a_hold_of_a_class_keeps_only_its_work_from_the_node(
    store: Store, create: Create, hold_class: HoldClass
) -> None:
    claim = claimed(store, create("a"))
    with store.begin() as tx:
        hold = tx.holds.place(NewHold(N1, HoldKind.OPERATOR, "disk", "ann", None, hold_class)).hold

    assert hold.hold_class is hold_class
    for work in NodeWork:
        with store.begin() as tx:
            expected = [hold] if hold_class.forbids([work_on(work, has_failed=False)]) else []
            assert tx.turns.held(claim, [N1], work) == tx.items.held(claim, [N1], work) == expected


@pytest.mark.parametrize(
    ("ended", "has_failed"),
    [
        ([], False),
        ([("failure", "deploy")], True),
        ([("failure", "deploy"), ("not_started", None)], True),
        ([("failure", "deploy"), ("failure", "held")], True),
        ([("failure", "held")], False),
        ([("failure", "deploy"), ("success", None)], False),
        ([("success", None), ("failure", "prepare")], True),
    ],
    ids=str,
)
def test_no_failed_node_is_undeployed_under_a_hold_that_forbids_teardown(
    store: Store, engine: sa.Engine, create: Create, ended: list[tuple[str, str | None]], has_failed: bool
) -> None:
    for number, (status, reason) in enumerate(ended):
        row = {"action_id": create(str(number)), "name": N1, "status": status, "reason": reason}
        with engine.begin() as connection:
            connection.execute(t.action_nodes.insert(), {**row, "groups": [], "updated_at": PAST})
            connection.execute(t.actions.update().values(state="failed", ended_at=PAST))
    claim = claimed(store, create("now"))
    with store.begin() as tx:
        hold = tx.holds.place(NewHold(N1, HoldKind.OPERATOR, "disk", "ann", None, HoldClass.NO_TEARDOWN)).hold

    with store.begin() as tx:
        assert tx.turns.held(claim, [N1, N2], NodeWork.PREPARATION) == ([hold] if has_failed else [])
        assert tx.turns.held(claim, [N1], NodeWork.DEPLOYMENT) == []


def test_a_muted_node_does_not_count_as_failed_or_late(store: Store, engine: sa.Engine, create: Create) -> None:
    action, now = create("a"), datetime.now(UTC)
    row = {
        "action_id": action,
        "status": "failure",
        "groups": [],
        "updated_at": now,
        "late_since": now,
        "late_usual": 1,
    }
    with engine.begin() as connection:
        connection.execute(t.action_nodes.insert(), [{**row, "name": name} for name in (N1, N2)])
    for hold_class in (HoldClass.NO_TEARDOWN, HoldClass.NO_ALERTS):
        with store.begin() as tx:
            tx.holds.place(NewHold(N1, HoldKind.OPERATOR, "disk", "ann", None, hold_class))
    with store.begin() as tx:
        tx.holds.place(NewHold(N2, HoldKind.OPERATOR, "disk", "ann", PAST, HoldClass.NO_ALERTS))

    counts = store.read(lambda tx: tx.measures.counts())

    assert (counts.failed, counts.late) == (1, 1)
    assert [(one.labels, one.number) for one in counts.nodes] == [(("failure",), 2)]


def test_the_nodes_that_no_criterion_counts_are_known_for_each_moment(store: Store) -> None:
    kept = NewHold(N1, HoldKind.OPERATOR, "disk", "ann", None, HoldClass.NO_CRITERIA)
    ended = NewHold(N2, HoldKind.OPERATOR, "disk", "ann", PAST, HoldClass.NO_CRITERIA)
    with store.begin() as tx:
        released = tx.holds.place(NewHold(N2, HoldKind.OPERATOR, "fan", "ann", None, HoldClass.NO_CRITERIA)).hold
        for hold in (kept, kept, ended, NewHold(N2, HoldKind.OPERATOR, "disk", "ann")):
            tx.holds.place(hold)
    assert store.read(lambda tx: tx.holds.uncounted()) == {N1, N2}
    with store.begin() as tx:
        tx.holds.release(released.id, "ann")

    found = [store.read(lambda tx, at=at: tx.holds.uncounted(at)) for at in (PAST, released.placed_at, NOW, None)]
    assert found == [set(), {N2}, {N1}, {N1}]


@pytest.mark.parametrize("touched", [N1, N2])
def test_an_action_is_told_of_a_hold_on_a_node_that_it_works_on(
    store: Store, create: Create, touched: NodeName
) -> None:
    action = create("a")
    claim = claimed(store, action)
    with store.begin() as tx:
        tx.turns.intend(claim, INTENT)
    with store.begin() as tx:
        before = tx.actions.version(action)

    placed = place(store, touched)

    with store.begin() as tx:
        noted = [entry.fact.text for entry in tx.journal.entries(action, ("noted",))]
        assert (tx.actions.version(action) != before) == (touched == N1)
    text = "node n1 is held (operator) by ann: disk; what was submitted for it before goes on, and nothing new is"
    assert (list(placed.under_way), noted) == (([action], [text]) if touched == N1 else ([], []))


OUTCOMES = {
    "the first failure": ("f", 2, 0),
    "the second one in a row": ("ff", 2, 1),
    "a success between": ("fsf", 2, 0),
    "a success long ago": ("sff", 2, 1),
    "each failure": ("f", 1, 1),
    "not asked for": ("fff", 0, 0),
    "a hold kept it from one": ("fhf", 2, 1),
    "held already": ("fff", 2, 1),
    "released since": ("ff-f", 2, 1),
    "released, and failed twice again": ("ff-ff", 2, 2),
}


@pytest.mark.parametrize(("outcomes", "hold_after", "holds"), OUTCOMES.values(), ids=list(OUTCOMES))
def test_a_node_that_fails_in_a_row_is_held(
    store: Store, engine: sa.Engine, create: Create, outcomes: str, hold_after: int, holds: int
) -> None:
    for outcome in outcomes:
        if outcome == "-":
            _release_all(store)
            continue
        action, a = create("a"), GroupName("a")
        status = NodeStatus.SUCCESS if outcome == "s" else NodeStatus.FAILURE
        facts: list[Fact] = [
            MembersKnown.of(strategy(group("a")), {a: frozenset([N1, N2])}),
            NodesChanged(a, Phase.DEPLOY, status, (N1,), held=outcome == "h"),
        ]
        if outcome == "f" and hold_after:
            facts.append(NodesFailed((N1,), hold_after))
        with engine.begin() as connection:
            at = connection.execute(sa.select(sa.func.site_time())).scalar_one()
            journal.record(connection, Line(action, 1, "a", at, "w"), facts)
            connection.execute(t.actions.update().values(state="failed", ended_at=at))

    with store.begin() as tx:
        found = tx.holds.latest(limit=9)
    assert [(hold.node, hold.kind, hold.placed_by) for hold in found] == [(N1, HoldKind.FAILED, "shipyard")] * holds
    if holds:
        assert found[0].reason.startswith(f"{hold_after} deployments in a row failed, the last one in action ")


def _release_all(store: Store) -> None:
    with store.begin() as tx:
        for hold in tx.holds.active():
            tx.holds.release(hold.id, "ann")


@pytest.mark.parametrize("rows", ["turns", "items"])
def test_a_hold_waits_for_an_intent_and_finds_it(store: Store, create: Create, rows: str) -> None:
    action = create("a")
    claim = claimed(store, action)
    with ThreadPoolExecutor(1) as beside:
        with store.begin() as tx:
            if rows == "turns":
                tx.turns.renew(claim)
            assert not getattr(tx, rows).held(claim, [N1], WORK)
            placing = beside.submit(place, store)
            with pytest.raises(TimeoutError):
                placing.result(0.05)
            if rows == "turns":
                tx.turns.intend(claim, INTENT)
        assert list(placing.result(PATIENCE).under_way) == ([action] if rows == "turns" else [])


@pytest.mark.parametrize("rows", ["turns", "items"])
def test_an_intent_waits_for_a_hold_and_sees_it(store: Store, create: Create, rows: str) -> None:
    action = create("a")
    claim = claimed(store, action)

    def held() -> int:
        with store.begin() as tx:
            return len(getattr(tx, rows).held(claim, [N1], WORK))

    with ThreadPoolExecutor(1) as beside:
        with store.begin() as tx:
            tx.holds.place(NewHold(N1, HoldKind.OPERATOR, "disk", "ann"))
            intending = beside.submit(held)
            with pytest.raises(TimeoutError):
                intending.result(0.05)
        assert intending.result(PATIENCE) == 1
