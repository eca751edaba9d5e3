"""What a turn of an item does, without a database and without its peer."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.facts.steps import StepsSkipped
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.items import ItemId, ItemState
from shipyard_api.observing import request_context
from shipyard_api.observing.telemetry import Activity, observe_with
from shipyard_api.observing.telemetry import Kind as TelemetryKind
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from shipyard_api.ports.state.turns import Intent, ItemClaim
from shipyard_api.workflow.attempts import BROKEN_TURNS, Again, Attempt
from shipyard_api.workflow.item_turn import RUN_SECONDS, ItemTurns
from shipyard_api.workflow.step import Act, Done, Failed, Gather, ItemKind, Json, Look
from tests.fakes.clock import FakeClock
from tests.unit.tables import every_row

AT = datetime(2026, 3, 2, tzinfo=UTC)
STEP = StepId("nodes")
LEFT = StepsSkipped((StepId("later"),))
LOST = LostHistory(AT, AT)
REPEATABLE = Intent(Marker("m"), {}, AT, AT, AT, 1, repeatable=True)
ONCE = replace(REPEATABLE, repeatable=False)
CLAIM = ItemClaim(
    *(ActionId("a"), STEP, ItemId("n1"), 3, "w1", {"node": "n1"}, {"at": 1}, None, False, None, "ann", "", ""),
    LostHistory(AT, None),
)


@dataclass(frozen=True)
class State:
    """Which of the kind's methods the state came from."""

    past: tuple[str, ...]

    def to_json(self) -> Json:
        return {"past": list(self.past)}


class Sample(ItemKind[State, str, str, str]):
    """An item that decides what a test wants."""

    def __init__(self, decision: Any = None) -> None:
        self.decision = decision

    def begin(self, task: Json) -> State:
        return State((f"begun for {task['node']}",))

    def load_state(self, stored: Json) -> State:
        return State((f"loaded {stored['at']}",))

    def notice(self, state: State, lost: LostHistory) -> State:
        return state if lost.noticed is None else State((*state.past, "noticed"))

    def decide(self, state: State, now: datetime) -> Any:
        return self.decision

    def fold(self, state: State, asked: object, report: object, now: datetime) -> Any:
        raise AssertionError("no attempt is made here")

    def leave(self, state: State, why: str) -> tuple[Any, ...]:
        return (LEFT,)


@dataclass
class Rows:
    """The rows of items and the attempts; ``calls``: what was asked of them, without claim and time."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    broken: int = 0

    def start(self, claim: ItemClaim, state: Json, **_: Any) -> ItemClaim:
        self.calls.append(("start", state))
        return replace(claim, state=state)

    def rest(self, claim: ItemClaim) -> None:
        self.calls.append(("rest",))

    def end(self, claim: ItemClaim, state: ItemState, detail: Any, facts: Any, **_: Any) -> None:
        self.calls.append(("end", state, detail, facts))

    def broke(self, claim: ItemClaim, *, now: datetime, until: datetime) -> int:
        self.calls.append(("broke", claim.state, until - now))
        return self.broken

    def begin(self, tx: Any, claim: ItemClaim, kind: Any, state: State, decision: Any, now: datetime) -> Any:
        self.calls.append(("begin", claim.intent, state.past, decision))
        return Again.LATER

    def resume(self, tx: Any, claim: ItemClaim, kind: Any, state: State, intent: Intent, now: datetime) -> Any:
        self.calls.append(("resume", intent, state.past))
        return Again.LATER


def turns(rows: Rows, kind: ItemKind[Any, Any, Any, Any] | None) -> ItemTurns:
    steps: Any = {STEP: SimpleNamespace(id=STEP, item_kind=kind)}
    return ItemTurns(cast(Any, None), lambda *_: steps, cast(Any, rows), FakeClock(AT), 10.0, "w1")


def store(rows: Rows) -> Any:
    return SimpleNamespace(begin=lambda: nullcontext(SimpleNamespace(items=rows)))


ACT, LOOK = Act("e", AT), Look("q")
CLAIMED = ("claim", ActionId("a"), {STEP: 1}, "holder", "w1")
LOADED = ("loaded 1",)


@every_row(
    [
        # what the claim has, what the item decides, what becomes of it
        ({}, ACT, [("begin", None, LOADED, ACT)]),
        ({}, LOOK, [("begin", None, LOADED, LOOK)]),
        ({}, Done("well"), [("end", ItemState.SUCCESS, "well", ())]),
        ({}, Failed("ill"), [("end", ItemState.FAILED, "ill", ())]),
        ({"paused": True}, LOOK, [("begin", None, LOADED, LOOK)]),
        ({"intent": ONCE}, LOOK, [("resume", ONCE, LOADED)]),
        ({"intent": REPEATABLE}, LOOK, [("resume", REPEATABLE, LOADED)]),
        # an item that has not begun
        (
            {"state": None},
            ACT,
            [("start", {"past": ["begun for n1"]}), ("begin", None, ("begun for n1",), ACT)],
        ),
        ({"state": None, "paused": True}, ACT, [("rest",)]),
        ({"state": None, "stopped": "over"}, ACT, [("end", ItemState.STOPPED, "over", ())]),
        # a stop waits for an effect whose outcome must be known, and outweighs a pause
        ({"stopped": "over"}, ACT, [("end", ItemState.STOPPED, "over", (LEFT,))]),
        ({"stopped": "over", "intent": REPEATABLE}, ACT, [("end", ItemState.STOPPED, "over", (LEFT,))]),
        ({"stopped": "over", "intent": ONCE}, ACT, [("resume", ONCE, LOADED)]),
        ({"stopped": "over", "paused": True, "state": None}, ACT, [("end", ItemState.STOPPED, "over", ())]),
        # a lost history: what only reads or repeats is decided anew
        ({"lost": LOST}, LOOK, [("begin", None, (*LOADED, "noticed"), LOOK)]),
        ({"lost": LOST, "intent": REPEATABLE}, LOOK, [("begin", None, (*LOADED, "noticed"), LOOK)]),
        ({"lost": LOST, "intent": ONCE}, LOOK, [("resume", ONCE, (*LOADED, "noticed"))]),
    ]
)
def test_a_turn_begins_resumes_rests_or_ends_its_item(
    claim: Mapping[str, Any], decision: Any, calls: list[tuple[Any, ...]]
) -> None:
    rows = Rows()
    tx: Any = SimpleNamespace(items=rows)
    assert turns(rows, Sample(decision))._decide(tx, replace(CLAIM, **claim), None) is Again.LATER
    assert rows.calls == calls


@every_row([(Sample(Gather()), "cannot have items"), (None, "has no items")])
def test_an_item_that_fans_out_and_a_step_without_items_are_faults(kind: Any, why: str) -> None:
    rows = Rows()
    with pytest.raises(RuntimeError, match=f"nodes {why}|of nodes {why}"):
        turns(rows, kind)._decide(cast(Any, SimpleNamespace(items=rows)), CLAIM, None)


@every_row([(BROKEN_TURNS - 1, False), (BROKEN_TURNS, True)])
def test_an_item_fails_after_some_broken_turns_in_a_row(in_a_row: int, failed: bool) -> None:
    rows = Rows(broken=in_a_row)
    replace(turns(rows, Sample()), store=store(rows))._broke(CLAIM, KeyError("x"))
    end = ("end", ItemState.FAILED, "internal error: KeyError; the worker's log has the rest", ())
    assert rows.calls == [("broke", {"at": 1}, timedelta(seconds=10)), *([end] if failed else [])]


@dataclass
class Runs(Rows):
    """Runs of items, too."""

    claims: list[ItemClaim | Exception] = field(default_factory=lambda: [KeyError("the claim broke")])

    def start_run(self, action: ActionId, versions: Any, *, holder: str, now: datetime) -> None:
        self.calls.append(("start_run", versions, holder))

    def continue_run(self, action: ActionId) -> None:
        self.calls.append(("continue_run", action))

    def end_run(self, action: ActionId, *, now: datetime, left_until: datetime) -> None:
        self.calls.append(("end_run", left_until - now))

    def claim(self, action: ActionId, versions: Any, **how: Any) -> ItemClaim | None:
        if not self.claims:
            return None
        self.calls.append(("claim", action, versions, how["holder"], how["worker"]))
        taken = self.claims.pop(0)
        if isinstance(taken, Exception):
            raise taken
        return taken

    def sleep(self, claim: ItemClaim, *, until: datetime) -> None:
        self.calls.append(("sleep", until - AT))


class Turns(ItemTurns, frozen=True):
    """Each turn takes the seconds that it is told, the last one finds no item."""

    seconds: list[float] = []  # noqa: RUF012  # a field, and msgspec copies it

    def turn(self, action: ActionId, holder: str) -> bool:
        if not self.seconds:
            return False
        cast(FakeClock, self.clock).advance(self.seconds.pop(0))
        return True


@every_row(
    [
        ([], ("end_run", timedelta(seconds=5))),
        ([RUN_SECONDS / 2, RUN_SECONDS / 2], ("end_run", timedelta(seconds=5))),
        ([RUN_SECONDS / 2, RUN_SECONDS], ("continue_run", ActionId("a"))),
    ]
)
def test_a_run_ends_with_its_items_and_goes_on_later_where_its_time_is_up(seconds: list[float], end: object) -> None:
    rows = Runs()
    given: Any = (store(rows), lambda *_: {}, rows, FakeClock(AT), 10.0, "w1")
    Turns(*given, seconds=[*seconds]).run(ActionId("a"), "holder")
    assert rows.calls == [("start_run", {}, "holder"), end]


def test_a_claim_that_breaks_is_a_fault_of_the_run_and_of_no_item() -> None:
    rows = Runs()
    with pytest.raises(KeyError, match="the claim broke"):
        replace(turns(rows, Sample()), store=store(rows)).turn(ActionId("a"), "holder")
    assert rows.calls == [CLAIMED]


@dataclass
class Ran:
    """Attempts, each of which ends a turn as a test wants."""

    end: Any
    given: list[Any] = field(default_factory=list)

    def begin(self, tx: Any, claim: ItemClaim, kind: Any, state: Any, decision: Any, now: datetime) -> Any:
        return Attempt(claim, kind, state, decision)

    def run(self, attempt: Any, decide: Any) -> Any:
        self.given.append((attempt.state.past, request_context.marker(), request_context.log_fields()))
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@every_row(
    {
        # how the attempt ends, whether the run goes on, what else is written
        "later": (Again.LATER, True, []),
        "at once": (Again.NOW, True, [("sleep", timedelta(0))]),
        "its peer takes no more": (Again.PUT_OFF, False, []),
        "a later turn has begun": (Fenced("x"), True, []),
        "a bug": (KeyError("x"), True, [("broke", None, timedelta(seconds=10))]),
    }
)
def test_a_run_goes_on_after_a_turn_unless_its_peer_takes_no_more(end: Any, goes_on: bool, calls: list[Any]) -> None:
    rows, ran = Runs(claims=[replace(CLAIM, context_marker="m-1")]), Ran(end)
    seen = list[Activity]()
    remove = observe_with(lambda activity: nullcontext(seen.append(activity)))
    try:
        with request_context.restored():
            ours = replace(turns(rows, Sample(ACT)), store=store(rows), attempts=cast(Any, ran))
            assert ours.turn(ActionId("a"), "holder") is goes_on
    finally:
        remove()
    assert [(activity.kind, activity.details["item"]) for activity in seen] == [(TelemetryKind.ITEM, "n1")]
    assert rows.calls == [CLAIMED, *calls]
    ((past, marker, fields),) = ran.given
    assert (past, marker) == (LOADED, "m-1")
    assert {name: fields[name] for name in ("action", "step", "item", "user")} == {
        "action": "a",
        "step": "nodes",
        "item": "n1",
        "user": "ann",
    }


@every_row([([], False), ([CLAIM], True)])
def test_a_turn_needs_a_due_item(claims: list[ItemClaim | Exception], goes_on: bool) -> None:
    rows = Runs(claims=[*claims])
    ours = replace(turns(rows, Sample(Done("well"))), store=store(rows))
    with request_context.restored():
        assert ours.turn(ActionId("a"), "holder") is goes_on


def test_items_that_lost_their_database_must_be_delivered_again() -> None:
    rows = Runs(claims=[CLAIM])
    ours = replace(turns(rows, Sample(ACT)), store=store(rows), attempts=cast(Any, Ran(StoreUnavailable("gone"))))
    with pytest.raises(StoreUnavailable):
        ours.run(ActionId("a"), "holder")
    assert rows.calls == [("start_run", {STEP: 1}, "holder"), CLAIMED]
    assert request_context.log_fields() == {}


def test_only_steps_with_items_have_a_version_to_claim_by() -> None:
    rows = Runs(claims=[])
    replace(turns(rows, None), store=store(rows)).run(ActionId("a"), "holder")
    assert rows.calls == [("start_run", {}, "holder"), ("end_run", timedelta(seconds=5))]
