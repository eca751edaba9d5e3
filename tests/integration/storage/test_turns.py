"""The engine's rows: who may begin a turn, what a turn writes, and that a late one writes nothing."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from shipyard_api.domain.actions import ActionId, RunState, StepId, StepState
from shipyard_api.domain.facts.actions import ActionEnded
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.facts.steps import Intended, StepEnded
from shipyard_api.domain.findings import DocumentRef, info
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.observing.telemetry import within
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.storage import tables as t
from shipyard_api.storage.turns import Turns
from shipyard_api.storage.unit_of_work import Store
from tests.integration.storage.rows import JOBS, broken_off, counts
from tests.waiting import PATIENCE

Create = Callable[..., ActionId]

# After everything that these tests create, however slow they are.
NOW = datetime.now(UTC) + timedelta(days=1)
LATER = NOW + timedelta(hours=1)
STATE = {"v": 1, "seen": ["é", None]}
INTENT = Intent(Marker("m-1"), {"v": 1, "nodes": ["n1"]}, LATER, NOW, NOW, 1)


def claim(store: Store, action: ActionId, *, now: datetime = NOW, worker: str = "w1") -> Claim:
    with store.begin() as tx:
        claimed = tx.turns.claim(action, now=now, worker=worker)
    assert claimed is not None
    return claimed


def row(engine: sa.Engine, action: ActionId) -> Any:
    with engine.connect() as connection:
        return connection.execute(sa.select(t.actions).where(t.actions.c.id == action)).one()


def jobs(engine: sa.Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(sa.select(JOBS).order_by(JOBS.c.id)))


def dump(engine: sa.Engine) -> dict[str, list[Any]]:
    """Every row of ours but the queue's."""
    with engine.connect() as connection:
        return {
            table.name: [tuple(found) for found in connection.execute(sa.select(table).order_by(*table.primary_key))]
            for table in t.metadata.sorted_tables
        }


# --- claiming -------------------------------------------------------------------------------------------------------


def test_the_first_claim_finds_the_first_step(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a", "b", "c")

    claimed = claim(store, action)

    assert (claimed.epoch, claimed.step, claimed.remaining) == (1, "a", ("b", "c"))
    assert (claimed.state, claimed.intent, claimed.failed) == (None, None, False)
    found = row(engine, action)
    assert (found.state, found.epoch, found.started_at) == ("running", 1, NOW)


def test_every_claim_takes_the_next_epoch(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")

    assert [claim(store, action).epoch for _ in range(3)] == [1, 2, 3]
    assert row(engine, action).started_at == NOW


def test_claims_at_the_same_time_get_epochs_of_their_own(store: Store, create: Create) -> None:
    action = create("a")
    start = threading.Barrier(8)

    def one(number: int) -> int:
        start.wait()
        return claim(store, action, worker=f"w{number}").epoch

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(one, range(8))) == list(range(1, 9))


def test_a_new_action_is_due_whatever_the_clocks_say(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(wake_at=LATER))

    assert claim(store, action).epoch == 1


def test_an_action_that_is_not_due_is_left_alone(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    with store.begin() as tx:
        tx.turns.sleep(_claim(tx.turns, action), until=LATER)
    before = dump(engine)

    with store.begin() as tx:
        assert tx.turns.claim(action, now=LATER - timedelta(seconds=2.5), worker="w") is None
    assert dump(engine) == before

    # The clocks of queue and worker are not the same one.
    assert claim(store, action, now=LATER - timedelta(seconds=1.5)).epoch == 2


def test_there_is_no_turn_of_what_has_ended_or_never_was(store: Store, create: Create) -> None:
    action = create("a")
    with store.begin() as tx:
        tx.turns.end_action(_claim(tx.turns, action), RunState.SUCCESS, now=NOW)

    with store.begin() as tx:
        assert tx.turns.claim(action, now=LATER, worker="w") is None
        assert tx.turns.claim(ActionId("nothing"), now=LATER, worker="w") is None


def test_a_claim_that_is_undone_takes_no_epoch(store: Store, create: Create) -> None:
    action = create("a")
    with broken_off(store) as tx:
        tx.turns.claim(action, now=NOW, worker="w")

    assert claim(store, action).epoch == 1


# --- writing --------------------------------------------------------------------------------------------------------


def test_state_and_intent_survive(store: Store, create: Create) -> None:
    action = create("a", "b")
    with store.begin() as tx:
        first = _claim(tx.turns, action)
        tx.turns.start_step(first, STATE, now=NOW)
        tx.turns.intend(first, INTENT)

    second = claim(store, action)

    assert (second.step, second.state, second.intent) == ("a", STATE, INTENT)


def test_a_second_turn_of_a_transaction_sees_what_the_first_one_wrote(store: Store, create: Create) -> None:
    action = create("a")

    with store.begin() as tx:
        first = tx.turns.claim(action, now=NOW, worker="w1")
        assert first is not None
        tx.turns.start_step(first, STATE, now=NOW)
        second = tx.turns.claim(action, now=NOW, worker="w1")

    assert second is not None
    assert (second.step, second.state) == ("a", STATE)


@pytest.mark.parametrize("trace", ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""])
def test_a_turn_goes_on_with_the_trace_of_the_request(store: Store, create: Create, trace: str) -> None:
    with within(trace):
        action = create("a")
    assert claim(store, action).traceparent == trace


def test_a_further_attempt_keeps_when_it_was_intended(store: Store, create: Create) -> None:
    action = create("a")
    again = Intent(INTENT.marker, INTENT.effect, LATER, NOW, NOW + timedelta(seconds=20), 2)
    with store.begin() as tx:
        first = _claim(tx.turns, action)
        tx.turns.start_step(first, STATE, now=NOW)
        tx.turns.intend(first, INTENT)
        tx.turns.intend(first, again)

    found = claim(store, action, now=again.attempted_at).intent

    assert found == again
    assert (found.intended_at, found.attempted_at) == (NOW, again.attempted_at)


def test_an_outcome_fulfils_the_intent_and_plans_the_next_turn(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    with store.begin() as tx:
        first = _claim(tx.turns, action)
        tx.turns.start_step(first, STATE, now=NOW)
        tx.turns.intend(first, INTENT)
    with store.begin() as tx:
        tx.turns.record(first, {"v": 1, "seen": []}, (), now=NOW, wake_at=LATER)

    assert row(engine, action).wake_at == LATER
    assert [job.scheduled_at for job in jobs(engine)] == [None, LATER]
    second = claim(store, action, now=LATER)
    assert (second.state, second.intent) == ({"v": 1, "seen": []}, None)


def test_an_outcome_without_a_pause_is_due_at_once_and_queues_nothing(
    store: Store, engine: sa.Engine, create: Create
) -> None:
    action = create("a")
    with store.begin() as tx:
        first = _claim(tx.turns, action)
        tx.turns.record(first, STATE, (), now=NOW, wake_at=None)

    assert row(engine, action).wake_at == NOW  # the worker goes on; if it dies, the sweep sees that it is overdue
    assert len(jobs(engine)) == 1


def test_steps_end_one_after_another_and_a_failure_skips(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a", "b", "c", "d")
    with store.begin() as tx:
        tx.turns.end_step(_claim(tx.turns, action), StepState.SUCCESS, "fine", (), now=NOW)
    second = claim(store, action)
    assert (second.step, second.failed) == ("b", False)
    with store.begin() as tx:
        tx.turns.end_step(second, StepState.FAILED, "broken", (StepId("c"),), now=NOW)

    third = claim(store, action)

    assert (third.step, third.remaining, third.failed) == ("d", (), True)
    with store.begin() as tx:
        steps = tx.actions.steps([action])[action]
    assert [(one.id, one.state, one.detail, one.ended_at) for one in steps] == [
        ("a", StepState.SUCCESS, "fine", NOW),
        ("b", StepState.FAILED, "broken", NOW),
        ("c", StepState.UPSTREAM_FAILED, "", NOW),
        ("d", None, "", None),
    ]


def test_after_the_last_step_the_action_ends(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    with store.begin() as tx:
        tx.turns.end_step(_claim(tx.turns, action), StepState.SUCCESS, "", (), now=NOW)
    last = claim(store, action)
    assert (last.step, last.state) == (None, None)
    with store.begin() as tx:
        tx.turns.end_action(last, RunState.SUCCESS, now=NOW)

    found = row(engine, action)
    assert (found.state, found.ended_at, found.wake_at) == ("success", NOW, None)
    assert create("a")  # the site is free


def test_the_journal_tells_who_did_what_in_which_turn(store: Store, create: Create) -> None:
    action = create("a", "b")
    fact = FindingReported(info("Hello", "said").about(DocumentRef("a/B/v1", "one")))
    first = claim(store, action, worker="host:1")
    with store.begin() as tx:
        again = tx.turns.claim(action, now=NOW, worker="host:2")
        assert again is not None
        tx.turns.start_step(again, STATE, now=NOW)
        tx.turns.intend(again, INTENT)
        tx.turns.record(again, STATE, (fact,), now=NOW, wake_at=None)
        tx.turns.end_step(again, StepState.FAILED, "why", (StepId("b"),), now=NOW)
    with store.begin() as tx:
        tx.turns.end_action(_claim(tx.turns, action), RunState.FAILED, now=LATER)

    with store.begin() as tx:
        lines = list(tx.journal.entries(action))

    assert first.epoch == 1
    assert [(line.epoch, line.step, line.kind) for line in lines] == [
        (2, "a", "step_started"),
        (2, "a", "intended"),
        (2, "a", "finding"),
        (2, "a", "step_ended"),
        (3, None, "action_ended"),
    ]
    assert [line.worker for line in lines] == ["host:2"] * 4 + ["w1"]
    assert [line.at for line in lines] == [NOW] * 4 + [LATER]
    assert lines[1].fact == Intended("m-1", 1, {"v": 1, "nodes": ["n1"]})
    assert lines[2].fact == fact
    assert lines[3].fact == StepEnded(StepState.FAILED, "why", (StepId("b"),))
    assert lines[4].fact == ActionEnded(RunState.FAILED)
    assert [line.id for line in lines] == sorted(line.id for line in lines)


def test_a_fact_that_cannot_be_recorded_undoes_the_turn(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    first = claim(store, action)
    before = dump(engine)

    unknown = PhaseStarted(GroupName("no-such-group"), Phase.PREPARE, (), "job")
    with pytest.raises(IntegrityError), store.begin() as tx:
        tx.turns.record(first, {"v": 2}, (unknown,), now=NOW, wake_at=LATER)

    assert dump(engine) == before


def void(_: object) -> None:
    return


WRITES: dict[str, Callable[[Turns, Claim], None]] = {
    "start_step": lambda turns, late: turns.start_step(late, {"v": 2}, now=NOW),
    "intend": lambda turns, late: turns.intend(late, INTENT),
    "record": lambda turns, late: turns.record(
        late, {"v": 2}, (FindingReported(info("A", "b")),), now=NOW, wake_at=LATER
    ),
    "record and go on": lambda turns, late: turns.record(late, {"v": 2}, (), now=NOW, wake_at=None),
    "sleep": lambda turns, late: turns.sleep(late, until=LATER),
    "rest": lambda turns, late: turns.rest(late),
    "broke": lambda turns, late: void(turns.broke(late, "bug", now=NOW)),
    "skip": lambda turns, late: turns.skip(late, (StepId("b"),), now=NOW),
    "end_step": lambda turns, late: turns.end_step(late, StepState.FAILED, "late", (StepId("b"),), now=NOW),
    "end_action": lambda turns, late: turns.end_action(late, RunState.FAILED, now=NOW),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_turn_that_is_over_writes_nothing(
    store: Store, engine: sa.Engine, create: Create, write: Callable[[Turns, Claim], None]
) -> None:
    """Not even if it goes on in the same transaction: the write to the action's row comes first."""
    action = create("a", "b")
    late = claim(store, action, worker="w1")
    with store.begin() as tx:
        tx.turns.start_step(late, STATE, now=NOW)
    claim(store, action, worker="w2")
    before, jobs_before = dump(engine), counts(engine)["procrastinate_jobs"]

    with store.begin() as tx, pytest.raises(Fenced, match=f"{action}: turn 1 is over"):
        write(tx.turns, late)

    assert dump(engine) == before
    assert counts(engine)["procrastinate_jobs"] == jobs_before


def test_a_turn_that_begins_while_another_writes_waits_for_it(store: Store, create: Create) -> None:
    action = create("a")
    first = claim(store, action)
    with ThreadPoolExecutor(1) as threads:
        with store.begin() as tx:
            tx.turns.record(first, {"v": 7}, (), now=NOW, wake_at=None)
            other = threads.submit(claim, store, action)
            with pytest.raises(TimeoutError):
                other.result(timeout=0.2)
        assert (other.result(timeout=PATIENCE).epoch, other.result().state) == (2, {"v": 7})


# --- waking ---------------------------------------------------------------------------------------------------------


def test_a_wake_up_is_a_job_with_the_action_as_lock(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    with store.begin() as tx:
        tx.turns.sleep(_claim(tx.turns, action), until=LATER)

    first, second = jobs(engine)
    for job in (first, second):
        assert (job.queue_name, job.task_name, job.lock) == ("turns", "turn", action)
        assert (job.args, job.status) == ({"action": action}, "todo")
    assert (first.scheduled_at, second.scheduled_at) == (None, LATER)


def test_a_wake_up_goes_with_its_transaction(store: Store, engine: sa.Engine, create: Create) -> None:
    action = create("a")
    with broken_off(store) as tx:
        tx.turns.sleep(_claim(tx.turns, action), until=LATER)

    assert len(jobs(engine)) == 1


@pytest.mark.parametrize(
    ("ago", "overdue"), [pytest.param(60, True, id="long ago"), pytest.param(5, False, id="within the grace")]
)
def test_what_should_have_been_looked_at_is_overdue(store: Store, create: Create, ago: int, overdue: bool) -> None:
    action = create("a")
    with store.begin() as tx:
        tx.turns.sleep(_claim(tx.turns, action), until=datetime.now(UTC) - timedelta(seconds=ago))

    with store.begin() as tx:
        assert tx.turns.overdue(grace=30) == ([action] if overdue else [])


def test_what_has_ended_or_waits_is_not_overdue(store: Store, create: Create) -> None:
    ended = create("a")
    with store.begin() as tx:
        tx.turns.end_action(_claim(tx.turns, ended), RunState.FAILED, now=NOW)
    waiting = create("a")
    with store.begin() as tx:
        tx.turns.sleep(_claim(tx.turns, waiting), until=LATER)

    with store.begin() as tx:
        assert tx.turns.overdue(grace=0) == []


@pytest.mark.parametrize(
    ("status", "queued"),
    [
        pytest.param("todo", False, id="one is queued"),
        pytest.param("doing", False, id="one runs"),
        pytest.param("succeeded", True, id="one has run"),
        pytest.param("failed", True, id="one has failed"),
        pytest.param(None, True, id="there is none"),
    ],
)
def test_a_reminder_queues_a_turn_unless_one_is_on_its_way(
    store: Store, engine: sa.Engine, create: Create, status: str | None, queued: bool
) -> None:
    action = create("a")
    with engine.begin() as connection:
        if status is None:
            connection.execute(sa.delete(JOBS))
        elif status != "todo":
            connection.execute(sa.text("UPDATE procrastinate_jobs SET status = 'doing'"))
            if status != "doing":
                connection.execute(
                    sa.text("UPDATE procrastinate_jobs SET status = CAST(:s AS procrastinate_job_status)"),
                    {"s": status},
                )
    before = len(jobs(engine))

    for _ in range(2):
        with store.begin() as tx:
            tx.turns.remind(action)

    assert len(jobs(engine)) - before == (1 if queued else 0)


def test_a_job_of_another_action_is_no_reminder(store: Store, engine: sa.Engine, create: Create) -> None:
    first = create("a")
    with store.begin() as tx:
        tx.turns.end_action(_claim(tx.turns, first), RunState.FAILED, now=NOW)
    second = create("a")
    with engine.begin() as connection:
        connection.execute(sa.delete(JOBS).where(JOBS.c.lock == second))

    with store.begin() as tx:
        tx.turns.remind(second)

    assert [job.lock for job in jobs(engine)] == [first, second]


def _claim(turns: Turns, action: ActionId) -> Claim:
    claimed = turns.claim(action, now=NOW, worker="w1")
    assert claimed is not None
    return claimed
