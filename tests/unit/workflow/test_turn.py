"""Turns of an action from their claim to their end, over rows in memory: what is run again, left alone, or given up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId, StepState
from shipyard_api.domain.facts.steps import StepsSkipped
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.waiting import ITEMS, WaitingFor
from shipyard_api.observing import request_context
from shipyard_api.observing.telemetry import Activity, observe_with
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.workflow.attempts import BROKEN_TURNS, Again
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Gather, Look
from shipyard_api.workflow.turn import Engine, _waiting_for_items
from tests.fakes.clock import FakeClock
from tests.unit.tables import every_row

SETTLE = 10.0
NOW = FakeClock().now()
A, S, T, LAST = ActionId("a"), StepId("s"), StepId("t"), StepId("last")
NAME = ActionName("deploy_site")
LEFT, GIVEN_UP, BOTH = (StepsSkipped((StepId(name),)) for name in ("left", "given up", "both"))
ACT, LOOK, WELL = Act("effect", NOW), Look("question"), Done("well")
CLAIM = Claim(
    *(A, NAME, 3, "w1", S, {"v": 1}, None, (T, LAST), False, False, None, "ann", "m-1", "00-11-22-01", None),
    LostHistory(NOW, None),
)
ENDED = replace(CLAIM, step=None, state=None, remaining=())
NEW, STOPPED = replace(CLAIM, state=None), replace(CLAIM, stopped_by="bob")
ONCE = Intent(Marker("m"), {}, NOW, NOW, NOW, 1)
REPEATABLE = replace(ONCE, repeatable=True)
PAUSE = "unpause of the paused action"


class Kind:
    """A step that decides what a test wants."""

    version = 2
    item_kind: Any = None

    def __init__(self, name: StepId, decision: Any = WELL, *, always: bool = False, watched: Any = None) -> None:
        self.id, self.decision, self.always, self.watched = name, decision, always, watched

    def begin(self, inputs: Any) -> Any:
        return state(f"begun with {inputs['site']}")

    def load_state(self, stored: Any) -> Any:
        return state("loaded")

    def decide(self, before: Any, now: datetime) -> Any:
        if isinstance(self.decision, Exception):
            raise self.decision
        return self.decision

    def gather(self, before: Any, ended: Any, now: datetime) -> Folded[Any]:
        waits = NOW + timedelta(seconds=5) if "waits" in ended else None
        return Folded(state("gathered") if ended else SimpleNamespace(to_json=lambda: CLAIM.state), wait_until=waits)

    def watch(self, before: Any, now: datetime) -> Any:
        return self.watched

    def leave(self, before: Any, why: str) -> tuple[Any, ...]:
        return (LEFT,)

    def give_up(self, why: str) -> tuple[Any, ...]:
        return (GIVEN_UP if why.startswith("internal error") else BOTH,)


def state(text: str) -> Any:
    return SimpleNamespace(text=text, to_json=lambda: {"v": 2, "text": text})


class Rows:
    """Each claim in turn; ``calls``: what was asked of the rows, without claim and time. Errors are raised."""

    def __init__(self, claims: Sequence[Claim | Exception | None]) -> None:
        self.claims, self.calls, self.read = [*claims], list[tuple[Any, ...]](), 0
        self.in_a_row, self.open_items, self.ended = 1, False, ()
        self.late: Sequence[ActionId] = ()
        self.known: Mapping[ActionId, ActionName] = {}

    def claim(self, action: ActionId, *, now: datetime, worker: str) -> Claim | None:
        self.calls.append(("claim", action, worker, now - NOW))
        taken = self.claims.pop(0)
        if isinstance(taken, Exception):
            raise taken
        return taken

    def inputs(self, action: ActionId) -> Mapping[str, Any]:
        self.read += 1
        return {"site": "x"}

    def name(self, action: ActionId) -> ActionName:
        return self.known[action]

    def overdue(self, *, grace: float) -> Sequence[ActionId]:
        return self.late

    def remind_overdue(self, *, grace: float) -> int:
        return int(grace)

    def start_step(self, claim: Claim, stored: Any, *, now: datetime) -> Claim:
        self.calls.append(("start_step", stored["text"]))
        return replace(claim, state=stored)

    def gather(self, claim: Claim) -> Any:
        return self.ended, self.open_items

    def record(self, claim: Claim, stored: Any, facts: Any, *, now: datetime, wake_at: Any, items: Any = ()) -> None:
        self.calls.append(("record", stored, facts, *([wake_at - now] if wake_at else [])))

    def broke(self, claim: Claim, detail: str, *, now: datetime) -> int:
        self.calls.append(("broke", detail))
        return self.in_a_row

    def rest(self, claim: Claim, *, waiting: WaitingFor) -> None:
        self.calls.append(("rest", waiting.what))

    def end_step(
        self, claim: Claim, ended: StepState, detail: str, skipped: Any = (), facts: Any = (), *, now: datetime
    ) -> None:
        self.calls.append(("end_step", ended, detail, skipped, [*facts]))

    def end_action(self, claim: Claim, ended: RunState, *, now: datetime) -> None:
        self.calls.append(("end_action", ended))

    def sleep(self, claim: Claim, *, until: datetime) -> None:
        self.calls.append(("sleep", until - NOW))

    def pass_on(self, action: ActionId, *, at: datetime) -> None:
        self.calls.append(("pass_on", action, at - NOW))

    def stop_open(self, claim: Claim, why: str, *, now: datetime) -> bool:
        self.calls.append(("stop_open", why))
        return self.open_items

    def __getattr__(self, name: str) -> Callable[..., None]:  # skip, remind, wake_resting
        return lambda *given, **_: self.calls.append((name, *(one for one in given if not isinstance(one, Claim))))


class Tried:
    """The attempts: what began or was resumed, and what comes of it."""

    def __init__(self, calls: list[tuple[Any, ...]]) -> None:
        self.calls = calls

    def begin(self, tx: Any, claim: Claim, step: Any, before: Any, decision: Any, now: datetime) -> Again:
        self.calls.append(("begin", before.text, decision))
        return Again.LATER

    def resume(self, tx: Any, claim: Claim, step: Any, before: Any, intent: Intent, now: datetime) -> Any:
        self.calls.append(("resume", before.text, intent))
        return Again.LATER


def engine(rows: Rows, *kinds: Any, clock: FakeClock | None = None) -> Engine:
    """Return an engine whose action has these steps, and two more: one that always runs is the last."""
    steps = fixed(*(kinds or (Kind(S),)), Kind(T), Kind(LAST, always=True))

    @contextmanager
    def begin() -> Iterator[Any]:
        yield SimpleNamespace(turns=rows, items=rows, actions=rows)

    store: Any = SimpleNamespace(begin=begin)
    built = Engine(store, {NAME: Definition(NAME, steps)}, clock or FakeClock(), settle=SETTLE, worker="w1")
    built._attempts = cast(Any, Tried(rows.calls))
    return built


TAKEN = ("claim", A, "w1", timedelta(0))
SUCCEEDED = [("skip", ()), ("end_step", StepState.SUCCESS, "well", (), [])]


def failed(detail: str, *given_up: Any) -> tuple[Any, ...]:
    return ("end_step", StepState.FAILED, detail, (T,), [*given_up, BOTH])


@every_row(
    {
        # the claims of the turns, what the step decides, what follows
        "to its end": ([CLAIM, ENDED], WELL, [TAKEN, *SUCCEEDED, TAKEN, ("end_action", RunState.SUCCESS)]),
        "a failure": ([CLAIM, None], Failed("ill"), [TAKEN, failed("ill"), TAKEN]),
        "nothing to do": ([None], WELL, [TAKEN]),
        "a failed action": ([replace(ENDED, failed=True)], WELL, [TAKEN, ("end_action", RunState.FAILED)]),
        "stopped at its end": ([replace(ENDED, stopped_by="b")], WELL, [TAKEN, ("end_action", RunState.FAILED)]),
        "an attempt": ([CLAIM], ACT, [TAKEN, ("begin", "loaded", ACT)]),
        "a question": ([CLAIM], LOOK, [TAKEN, ("begin", "loaded", LOOK)]),
        "a step that begins": ([NEW], ACT, [TAKEN, ("start_step", "begun with x"), ("begin", "begun with x", ACT)]),
        "an open intent": ([replace(CLAIM, intent=ONCE)], ACT, [TAKEN, ("resume", "loaded", ONCE)]),
        "paused before it begins": ([replace(NEW, paused=True)], ACT, [TAKEN, ("rest", PAUSE)]),
        "paused": ([replace(CLAIM, paused=True)], ACT, [TAKEN, ("begin", "loaded", ACT)]),
        "stopped, an intent open": ([replace(STOPPED, intent=ONCE)], ACT, [TAKEN, ("resume", "loaded", ONCE)]),
        "stopped, what may be repeated": (
            [replace(STOPPED, intent=REPEATABLE), None],
            ACT,
            [TAKEN, ("record", {"v": 1}, (LEFT,)), failed("stopped by bob"), TAKEN],
        ),
        "stopped before it begins": (
            [replace(NEW, stopped_by="bob"), None],
            ACT,
            [TAKEN, failed("stopped by bob"), TAKEN],
        ),
        "a later turn has begun": ([Fenced("x")], WELL, [TAKEN]),
    }
)  # fmt: skip
def test_turns_are_run_until_one_has_to_wait(claims: Any, decision: Any, calls: list[Any]) -> None:
    rows = Rows(claims)
    engine(rows, Kind(S, decision)).run(A)
    assert rows.calls == calls
    assert rows.claims == []


def test_a_step_that_always_runs_is_not_ended_by_a_stop() -> None:
    rows = Rows([STOPPED])
    engine(rows, Kind(S, ACT, always=True)).run(A)
    assert rows.calls == [TAKEN, ("begin", "loaded", ACT)]


def test_a_turn_that_lost_its_database_must_be_delivered_again() -> None:
    rows = Rows([StoreUnavailable("gone")])
    with pytest.raises(StoreUnavailable):
        engine(rows).run(A)
    assert rows.calls == [TAKEN]


DETAIL = "KeyError; the worker's log has the rest"


@every_row(
    [
        # how many turns broke in a row, the claim that says so; what is written
        (1, CLAIM, [("broke", DETAIL), ("sleep", timedelta(seconds=SETTLE))]),
        (BROKEN_TURNS - 1, CLAIM, [("broke", DETAIL), ("sleep", timedelta(seconds=SETTLE * (BROKEN_TURNS - 1)))]),
        (
            *(BROKEN_TURNS, CLAIM),
            [("broke", DETAIL), failed(f"internal error: {DETAIL}", GIVEN_UP), ("sleep", timedelta(0))],
        ),
        (1, None, []),
        (1, ENDED, []),
    ]
)
def test_a_turn_that_breaks_is_tried_again_ever_later_until_the_step_fails(
    in_a_row: int, second: Claim | None, calls: list[Any]
) -> None:
    rows = Rows([CLAIM, second])
    rows.in_a_row = in_a_row
    engine(rows, Kind(S, KeyError("x"))).run(A)
    assert rows.calls == [TAKEN, TAKEN, *calls]


@pytest.mark.parametrize(
    ("claim", "unknown"),
    [
        (replace(CLAIM, name=ActionName("other")), "action other"),
        (replace(CLAIM, step=StepId("new")), "step new"),
        (replace(CLAIM, remaining=(T, StepId("new"))), "step new"),
        (replace(CLAIM, state={"v": 3}), "version 3 of the state of step s"),
    ],
    ids=["action", "step", "a later step", "version"],
)
def test_what_another_release_began_is_left_to_its_workers(
    claim: Claim, unknown: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = replace(CLAIM, name=ActionName("yet another"))
    rows = Rows([claim, claim, other])
    ours = engine(rows)
    with caplog.at_level(logging.WARNING):
        assert [ours.turn(A) for _ in range(3)] == [Again.LATER] * 3
    passed_on = ("pass_on", A, timedelta(seconds=SETTLE / 2))
    assert rows.calls == [TAKEN, passed_on] * 3
    # Each reason is said once.
    assert [line.unknown for line in caplog.records] == [unknown, "action yet another"]  # type: ignore[attr-defined]


@every_row(
    {
        # what has ended, whether items are open, what the step watches, the pause; what is written
        "open items": ((), True, None, False, [("wake_resting",), ("rest", "the items of s")]),
        "a paused fan-out": ((), False, None, True, [("rest", PAUSE)]),
        "what runs is watched": ((), True, LOOK, False, [("wake_resting",), ("begin", "loaded", LOOK)]),
        "watched in a pause": ((), True, LOOK, True, [("begin", "loaded", LOOK)]),
        "what has ended": (("n1",), True, LOOK, True, [("record", {"v": 2, "text": "gathered"}, ())]),
    }
)
def test_a_step_with_items_waits_for_them_or_folds_them(
    ended: Any, open_items: bool, watched: Any, paused: bool, calls: list[Any]
) -> None:
    rows = Rows([replace(CLAIM, paused=paused)])
    rows.ended, rows.open_items = ended, open_items
    engine(rows, Kind(S, Gather(begins=paused), watched=watched)).turn(A)
    assert rows.calls == [TAKEN, *calls]


GATHERED = {"v": 2, "text": "gathered"}
WOKEN, RESTS = ("wake_resting",), ("rest", "the items of s")


@every_row(
    [
        # the claims of the turns, what the step decides, which items are open, which ended; what follows
        ([CLAIM], WELL, True, (), [("stop_open", "their step has succeeded"), RESTS]),
        ([CLAIM], Failed("ill"), True, (), [("stop_open", "their step has failed"), RESTS]),
        ([CLAIM, None], WELL, False, (), [("stop_open", "their step has succeeded"), *SUCCEEDED, TAKEN]),
        ([CLAIM, None], Failed("ill"), False, (), [("stop_open", "their step has failed"), failed("ill"), TAKEN]),
        ([CLAIM], Gather(), True, (), [WOKEN, RESTS]),
        ([CLAIM, None], Gather(), True, ("n1",), [WOKEN, ("record", GATHERED, ()), TAKEN]),
        ([CLAIM], Gather(), True, ("waits",), [WOKEN, ("record", GATHERED, (), timedelta(seconds=5))]),
        ([STOPPED], WELL, True, (), [("stop_open", "stopped by bob"), RESTS]),
        (
            *([STOPPED, None], WELL, False, ("n1",)),
            [("stop_open", "stopped by bob"), ("record", GATHERED, ()), TAKEN],
        ),
    ]
)
def test_a_step_ends_after_its_items(
    claims: Any, decision: Any, open_items: bool, ended: Any, calls: list[Any]
) -> None:
    rows = Rows(claims)
    rows.open_items, rows.ended = open_items, ended
    kind = Kind(S, decision)
    kind.item_kind = object()
    engine(rows, kind).run(A)
    assert rows.calls == [TAKEN, *calls]


EARLIER = NOW - timedelta(minutes=5)
THEIRS, OTHERS = WaitingFor(ITEMS, "the items of s", EARLIER), WaitingFor(ITEMS, "the items of r", EARLIER)
PEER, NEXT = WaitingFor("Kubernetes", "n1 to be drained", EARLIER), WaitingFor("etcd", "a member of n2", NOW)
FRESH = WaitingFor(ITEMS, "the items of s", NOW)


@every_row(
    [
        # what the step waited for before, what its items wait for; what it waits for, and whether they were asked
        (None, PEER, FRESH, False),
        (THEIRS, PEER, THEIRS, False),
        (OTHERS, PEER, FRESH, False),
        (PEER, NEXT, NEXT, True),
        (PEER, None, FRESH, True),
    ]
)
def test_items_are_asked_what_they_wait_for_only_if_one_may_have_said(
    before: WaitingFor | None, known: WaitingFor | None, waiting: WaitingFor, asked: bool
) -> None:
    claims: list[Any] = []
    tx: Any = SimpleNamespace(items=SimpleNamespace(waiting_for=lambda claim: claims.append(claim) or known))
    assert _waiting_for_items(tx, replace(CLAIM, waiting=before), cast(Any, Kind(S)), NOW) == waiting
    assert bool(claims) is asked


def test_a_step_that_waits_for_items_and_has_none_is_a_fault() -> None:
    with pytest.raises(RuntimeError, match="s waits for work items and has none"):
        engine(Rows([CLAIM]), Kind(S, Gather())).turn(A)


def test_the_inputs_of_an_action_are_read_once_while_few_others_move() -> None:
    others = [ActionId(f"a{number}") for number in range(64)]
    rows = Rows([replace(CLAIM, action=action) for action in [A, *others[:63], A, others[63], A]])
    ours = engine(rows, Kind(S, ACT))
    read = []
    for action in [A, *others[:63], A, others[63], A]:
        ours.turn(action)
        read.append(rows.read)
    assert read == [*range(1, 65), 64, 65, 66]


def test_a_run_of_items_finds_the_steps_of_its_action() -> None:
    rows = Rows([CLAIM])
    rows.known = {A: NAME, ActionId("b"): ActionName("other")}
    ours = engine(rows)
    tx: Any = SimpleNamespace(turns=rows, items=rows, actions=rows)
    assert ours._steps_with_items(tx, ActionId("b")) == {}
    first = ours._steps_with_items(tx, A)
    rows.known = {}  # its name is not asked for again
    assert list(first) == [S, T, LAST]
    assert ours._steps_with_items(tx, A) is first


def test_a_sweep_reminds_of_every_action_and_item_that_is_late() -> None:
    rows = Rows([])
    rows.late = (A, ActionId("b"))
    assert engine(rows).sweep(grace=3.0) == 5
    assert rows.calls == [("remind", A), ("remind", "b")]


@every_row(
    {
        # how the turn ends, its outcome for metrics
        "success": (None, "success"),
        "fenced": (Fenced("x"), "fenced"),
        "no database": (StoreUnavailable("x"), "no_database"),
        "a bug": (KeyError("x"), "failed"),
    }
)
def test_a_turn_works_for_the_user_of_the_action_and_says_how_it_ended(error: Any, outcome: str) -> None:
    seen = list[tuple[Activity, Mapping[str, str], str]]()

    @contextmanager
    def observer(activity: Activity) -> Iterator[None]:
        try:
            yield
        finally:
            seen.append((activity, request_context.log_fields(), request_context.marker()))

    remove = observe_with(observer)
    try:
        with request_context.restored(), pytest.raises(type(error)) if error else request_context.restored():
            engine(Rows([CLAIM]), Kind(S, error or ACT)).turn(A)
    finally:
        remove()
    ((activity, fields, marker),) = seen
    assert (activity.labels, activity.details) == ({"action": NAME}, {"action": "a", "step": "s", "epoch": "3"})
    assert (activity.parent, activity.outcome) == ("00-11-22-01", outcome)
    assert (marker, fields["user"], fields["action"], fields["step"]) == ("m-1", "ann", "a", "s")


def test_a_run_leaves_no_user_behind() -> None:
    engine(Rows([CLAIM]), Kind(S, ACT)).run(A)
    assert "user" not in request_context.log_fields()
