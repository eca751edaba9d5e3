"""Rows of work items: what wakes them, what ends them, and what their action shows of them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, RunState, StepId
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent, ItemClaim
from shipyard_api.storage import tables as t
from shipyard_api.storage.items import _GATHER_PAUSE
from shipyard_api.storage.unit_of_work import Store
from tests.integration.storage.rows import JOBS

# After everything that these tests create, however slow they are.
NOW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
LATER = NOW + timedelta(hours=1)
STEP = StepId("a")
ITEMS = tuple(map(ItemId, ("n1", "n2", "n3")))
WELL, ILL, STOPPED = ItemState.SUCCESS, ItemState.FAILED, ItemState.STOPPED


def waits(who: str, what: str = "eviction", since: datetime = NOW) -> WaitingFor:
    return WaitingFor(who, what, since)


def intent(*, repeatable: bool) -> Intent:
    return Intent(Marker("m-1"), {"v": 1}, LATER, NOW, NOW, 1, repeatable=repeatable)


@dataclass
class Step:
    """An action whose only step has three items that are due."""

    store: Store
    engine: sa.Engine
    turn: Claim

    def claim(self, holder: str = "1", now: datetime = NOW) -> ItemClaim:
        with self.store.begin() as tx:
            claimed = tx.items.claim(self.turn.action, {STEP: 1}, holder=holder, now=now, worker="w1")
        assert claimed is not None
        return claimed

    def claims(self) -> list[ItemClaim]:
        return [self.claim(str(number)) for number in range(1, 4)]

    def due(self, now: datetime = NOW) -> list[str]:
        """The items that could be claimed now."""
        items = t.work_items.c
        query = sa.select(items.id).where(items.wake_at <= now, items.holder.is_(None), items.ended_at.is_(None))
        with self.engine.connect() as connection:
            return list(connection.execute(query.order_by(items.id)).scalars())

    def item(self, name: str) -> Any:
        with self.engine.connect() as connection:
            return connection.execute(sa.select(t.work_items).where(t.work_items.c.id == name)).one()

    def runs(self) -> int:
        """How many runs were queued since they were asked for last."""
        with self.engine.begin() as connection:
            return connection.execute(JOBS.delete().where(JOBS.c.queue_name == "items")).rowcount

    def pause(self, state: RunState = RunState.PAUSED) -> None:
        with self.engine.begin() as connection:
            connection.execute(t.actions.update().values(state=state.value))

    def shown(self) -> WaitingFor | None:
        """What the action says that it waits for."""
        with self.engine.connect() as connection:
            stored = connection.execute(sa.select(t.actions.c.waiting_for)).scalar_one()
        return WaitingFor.from_json(stored) if stored else None


@pytest.fixture
def step(store: Store, engine: sa.Engine, create: Callable[..., ActionId]) -> Step:
    action = create(STEP)
    with store.begin() as tx:
        turn = tx.turns.claim(action, now=NOW, worker="w1")
        assert turn is not None
        turn = tx.turns.start_step(turn, {"v": 1}, now=NOW)
        tx.items.add(turn, [NewItem(name, {"node": name}) for name in ITEMS], now=NOW)
        tx.turns.rest(turn)
    made = Step(store, engine, turn)
    assert made.runs() == 3
    return made


def test_items_that_exist_are_not_added_again(step: Step) -> None:
    claimed = step.claim()
    with step.store.begin() as tx:
        tx.items.add(step.turn, [NewItem(name, {"node": "another"}) for name in (*ITEMS, ItemId("n4"))], now=NOW)
    assert step.due() == ["n2", "n3", "n4"]
    assert (claimed.item, step.item("n1").task, step.item("n2").task) == ("n1", {"node": "n1"}, {"node": "n2"})


def test_an_item_goes_on_with_the_trace_of_the_request(step: Step) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert step.claim("1").traceparent == ""
    with step.engine.begin() as connection:
        connection.execute(t.actions.update().values(traceparent=trace))
    assert step.claim("2").traceparent == trace


def test_items_that_rest_since_a_pause_are_woken_with_a_run_each(step: Step) -> None:
    first, second, _ = step.claims()
    step.pause()
    with step.store.begin() as tx:
        tx.items.rest(first)
        tx.items.rest(second)
    assert step.due(LATER) == []
    with step.store.begin() as tx:
        tx.items.wake_resting(step.turn, now=NOW)

    # The third one is held by its run.
    assert (step.due(), step.runs()) == (["n1", "n2"], 2)
    with step.store.begin() as tx:
        tx.items.wake_resting(step.turn, now=NOW)
    assert step.runs() == 0


@pytest.mark.parametrize(("grace", "actions"), [(30.0, 1), (90.0, 0)])
def test_a_sweep_frees_what_a_lost_run_held_and_queues_a_run_for_what_is_overdue(
    step: Step, grace: float, actions: int
) -> None:
    held = step.claim("1")  # of a run that is not in the queue
    with step.engine.begin() as connection:
        late = sa.func.site_time() - timedelta(seconds=60)
        connection.execute(t.work_items.update().where(t.work_items.c.id == "n2").values(wake_at=late))
    with step.store.begin() as tx:
        assert tx.items.remind_overdue(grace=grace) == actions
    assert (step.runs(), step.item(held.item).holder) == (actions, None)


def test_an_item_stays_due_if_its_action_was_resumed_meanwhile(step: Step) -> None:
    with step.store.begin() as tx:
        tx.items.rest(claimed := step.claim())
    assert step.item(claimed.item).wake_at is not None


def test_a_stop_takes_items_from_runs_that_only_read_or_repeat(step: Step) -> None:
    reads, repeats, once = step.claims()
    with step.store.begin() as tx:
        tx.items.intend(repeats, intent(repeatable=True))
        tx.items.intend(once, intent(repeatable=False))
    with step.store.begin() as tx:
        assert tx.items.stop_open(step.turn, "stopped by ann", now=NOW)

    assert (step.due(), step.runs()) == (["n1", "n2"], 3)
    assert [step.item(name).stop for name in ITEMS] == ["stopped by ann"] * 3
    with step.store.begin() as tx:
        assert tx.items.stop_open(step.turn, "stopped once more", now=NOW)
    assert (step.item("n1").stop, step.runs()) == ("stopped by ann", 0)
    taken = step.claim("9")
    assert (taken.item, taken.stopped, taken.epoch) == (reads.item, "stopped by ann", reads.epoch + 1)
    with pytest.raises(Fenced), step.store.begin() as tx:
        tx.items.sleep(reads, until=LATER)


def test_ended_items_are_gathered_once_in_the_order_of_their_end(step: Step) -> None:
    first, second, third = step.claims()
    for claimed, outcome, at in ((third, ILL, NOW), (first, WELL, LATER), (second, STOPPED, NOW)):
        with step.store.begin() as tx:
            tx.items.end(claimed, outcome, f"{claimed.item} ended", (), now=at)
        with step.store.begin() as tx:
            ended, any_open = tx.items.gather(step.turn, limit=2)
            if claimed is third:
                assert (ended, any_open) == ((EndedItem(third.item, ILL, "n3 ended", None),), True)
        if claimed is first:
            assert ([item.id for item in ended], any_open) == (["n1"], True)
    assert ([item.id for item in ended], any_open) == (["n2"], False)
    with step.store.begin() as tx:
        assert tx.items.gather(step.turn) == ((), False)
        assert tx.items.succeeded(step.turn.action) == {STEP: ["n1"]}
        assert tx.items.counts(step.turn.action) == {STEP: {WELL: 1, ILL: 1, STOPPED: 1}}
        assert not tx.items.stop_open(step.turn, "too late", now=NOW)


def test_more_ended_items_than_are_asked_for_come_with_the_next_call(step: Step) -> None:
    with step.store.begin() as tx:
        for claimed in step.claims():
            tx.items.end(claimed, WELL, "", (), now=NOW)
        parts = [[item.id for item in tx.items.gather(step.turn, limit=2)[0]] for _ in range(3)]
    assert parts == [["n1", "n2"], ["n3"], []]


def test_an_action_shows_what_its_items_wait_for(step: Step) -> None:
    first, second, third = step.claims()
    shown = []
    for claimed, waiting in ((first, waits("Kubernetes")), (second, waits("etcd", "removal", LATER)), (third, None)):
        with step.store.begin() as tx:
            tx.items.sleep(claimed, until=LATER, waiting=waiting)
        shown.append(step.shown())
    assert shown[0] == waits("Kubernetes")
    assert shown[1] == shown[2] == WaitingFor("Kubernetes, etcd", "eviction; removal", NOW)

    # Each turn knows what the last one waited for, and changes what is shown when that is over.
    first, second, third = (step.claim(str(number), LATER) for number in range(4, 7))
    assert [claimed.waiting and claimed.waiting.who for claimed in (first, second, third)] == [
        "Kubernetes",
        "etcd",
        None,
    ]
    with step.store.begin() as tx:
        tx.items.sleep(first, until=LATER)
    assert step.shown() == shown[2]
    with step.store.begin() as tx:
        tx.items.record(second, {"v": 1}, (), now=LATER, wake_at=LATER)
    assert step.shown() == waits("Kubernetes")


def test_a_paused_action_and_one_with_turns_of_its_own_show_their_own_wait(step: Step) -> None:
    first, second, _ = step.claims()
    step.pause()
    with step.store.begin() as tx:
        tx.items.sleep(first, until=LATER, waiting=waits("Kubernetes"))
    assert step.shown() is None
    step.pause(RunState.RUNNING)
    with step.engine.begin() as connection:
        connection.execute(t.actions.update().values(wake_at=LATER))
    with step.store.begin() as tx:
        tx.items.sleep(second, until=LATER, waiting=waits("etcd"))
    assert step.shown() is None


def test_a_run_that_is_delivered_again_takes_up_what_it_held(step: Step) -> None:
    held = step.claim("7")
    with step.store.begin() as tx:
        tx.items.start_run(step.turn.action, {STEP: 1}, holder="7", now=NOW)
    assert (step.due(), step.runs()) == (["n1", "n2", "n3"], 2)
    again = step.claim("7")
    assert (again.item, again.epoch) == (held.item, held.epoch + 1)


def test_the_next_run_comes_when_the_next_item_is_due(step: Step) -> None:
    left = NOW + timedelta(seconds=5)
    with step.store.begin() as tx:
        tx.items.end_run(step.turn.action, now=NOW, left_until=left)
    queued = sa.select(JOBS.c.scheduled_at).where(JOBS.c.queue_name == "items")
    with step.engine.connect() as connection:
        assert list(connection.execute(queued).scalars()) == [left]  # items that are due were left
    assert step.runs() == 1
    for claimed in step.claims():
        with step.store.begin() as tx:
            tx.items.sleep(claimed, until=LATER)
            tx.items.end_run(step.turn.action, now=NOW, left_until=left)
    with step.engine.connect() as connection:
        assert list(connection.execute(queued).scalars()) == [LATER]


def test_broken_turns_are_counted_until_one_succeeds(step: Step) -> None:
    for count in (1, 2):
        with step.store.begin() as tx:
            assert tx.items.broke(step.claim(str(count)), now=NOW, until=NOW) == count
    with step.store.begin() as tx:
        tx.items.record(step.claim("3"), {"v": 1}, (), now=NOW, wake_at=NOW)
    with step.store.begin() as tx:
        assert tx.items.broke(step.claim("4"), now=NOW, until=LATER) == 1
    assert step.due() == ["n2", "n3"]


def test_an_item_ends_in_a_state_of_ended_items(step: Step) -> None:
    claimed = step.claim()
    with pytest.raises(ValueError, match="running is not how an item ends"), step.store.begin() as tx:
        tx.items.end(claimed, ItemState.RUNNING, "", (), now=NOW)
    assert step.item(claimed.item).ended_at is None


def test_an_item_that_ends_wakes_its_action_together_with_others_and_the_last_one_at_once(step: Step) -> None:
    def woken() -> list[datetime]:
        """When the turns come that were queued since they were asked for last."""
        with step.engine.begin() as connection:
            turns = JOBS.delete().where(JOBS.c.queue_name != "items").returning(JOBS.c.scheduled_at)
            return list(connection.execute(turns).scalars())

    woken()
    pauses = []
    for claimed in step.claims():
        with step.store.begin() as tx:
            tx.items.end(claimed, ItemState.SUCCESS, "", (), now=NOW)
        pauses.append([at - NOW for at in woken()])
    assert pauses == [[_GATHER_PAUSE], [_GATHER_PAUSE], [timedelta()]]
