"""Late nodes in Postgres: what a row shows and when it ends, the hold, and what the history says is usual."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged, NodesLate, NodesNotLate
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.holds import HoldKind
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.policy.lateness import ANY, LEAST, Usual
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.state.nodes import Late
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store
from tests.factories import group, strategy

Create = Callable[..., ActionId]

A = GroupName("a")
N1, N2 = NodeName("n1"), NodeName("n2")
BEGIN = datetime(2026, 11, 26, 12, tzinfo=UTC)
DEPLOY = ActionName("deploy_site")


def record(engine: sa.Engine, action: ActionId, seconds: float, *facts: Fact) -> None:
    with engine.begin() as connection:
        journal.record(connection, Line(action, 1, "a", BEGIN + timedelta(seconds=seconds), "w"), facts)


def members(*nodes: NodeName) -> MembersKnown:
    return MembersKnown.of(strategy(group("a")), {A: frozenset(nodes)})


def late_of(store: Store, action: ActionId) -> dict[str, Late | None]:
    found = store.read(lambda tx: tx.actions.nodes(action, status=(), group=(), after="", limit=9))
    return {node.name: node.late for node in found}


def test_a_node_is_late_until_its_status_changes(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    record(engine, action, 0, members(N1, N2), PhaseStarted(A, Phase.PREPARE, (N1, N2), "j"))
    record(engine, action, 90, NodesLate(A, Phase.PREPARE, {N1: 60.5, N2: 80}, 90.0))

    since = BEGIN + timedelta(seconds=90)
    assert late_of(store, action) == {N1: Late(since, 60.5), N2: Late(since, 80)}
    assert store.read(lambda tx: tx.measures.counts()).late == 2

    record(engine, action, 95, NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (N1,)))
    assert late_of(store, action) == {N1: None, N2: Late(since, 80)}

    record(engine, action, 96, NodesNotLate(A, Phase.PREPARE, (N2,)))
    assert late_of(store, action) == {N1: None, N2: None}
    record(engine, action, 97, NodesLate(A, Phase.PREPARE, {N2: 80}, 97.0))
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))
    assert store.read(lambda tx: tx.measures.counts()).late == 0
    assert store.read(lambda tx: tx.holds.active()) == []


def test_a_late_node_is_held_where_the_policy_says_so(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    record(engine, action, 0, members(N1), PhaseStarted(A, Phase.DEPLOY, (N1,), "j"))
    record(engine, action, 90, NodesLate(A, Phase.DEPLOY, {N1: 60}, 90.0, hold=True))

    (hold,) = store.read(lambda tx: tx.holds.active())
    assert (hold.node, hold.kind, hold.placed_by) == (N1, HoldKind.LATE, "shipyard")
    assert hold.reason == f"late in deploy of action {action}"


def play(engine: sa.Engine, action: ActionId, took: dict[NodeName, float], *, running: float | None = None) -> None:
    """Let nodes be prepared in one batch, in so many seconds each; the last one with the batch."""
    nodes = tuple(took)
    record(engine, action, 0, members(*nodes), PhaseStarted(A, Phase.PREPARE, nodes, "j"))
    if running is not None:
        record(engine, action, running, PhaseRunning(A, Phase.PREPARE))
    for node, seconds in took.items():
        record(engine, action, seconds, NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (node,)))
    record(engine, action, max(took.values()), PhaseEnded(A, Phase.PREPARE, PhaseStatus.SUCCESS))


def usual(store: Store, models: dict[NodeName, str]) -> Usual:
    return store.read(lambda tx: tx.nodes.usual_durations([DEPLOY], models, actions=50))


def numbered(first: int, last: int) -> list[NodeName]:
    return [NodeName(f"n{number:02}") for number in range(first, last + 1)]


@pytest.mark.parametrize(
    ("nodes", "slow", "expected"),
    [
        pytest.param(LEAST - 1, 0, {}, id="too few"),
        pytest.param(LEAST, 0, {Phase.PREPARE: {ANY: 19.0}}, id="19 of 20 are no longer"),
        pytest.param(2 * LEAST, LEAST, {Phase.PREPARE: {ANY: 38.0, "slow": 19.0}}, id="a profile of its own"),
        pytest.param(LEAST, LEAST - 1, {Phase.PREPARE: {ANY: 19.0}}, id="a profile with too few"),
    ],
)
def test_the_usual_duration_is_measured_by_profile(
    store: Store, engine: sa.Engine, create: Create, nodes: int, slow: int, expected: Usual
) -> None:
    took = {name: float(number) for number, name in enumerate(numbered(1, nodes), start=1)}
    play(engine, create("a"), took)

    assert usual(store, dict.fromkeys(numbered(1, slow), "slow")) == expected


def test_the_queue_and_what_did_not_succeed_are_left_out(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    play(engine, action, dict.fromkeys(numbered(1, LEAST), 500.0), running=400)
    lost = NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, tuple(numbered(1, LEAST)), timed_out=True)
    record(engine, action, 600, PhaseStarted(A, Phase.DEPLOY, tuple(numbered(1, LEAST)), "k"), lost)

    assert usual(store, {}) == {Phase.PREPARE: {ANY: 100.0}}
