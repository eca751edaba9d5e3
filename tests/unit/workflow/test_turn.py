"""How a turn ends its step, and what it says that the step waits for."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, ActionName, StepId, StepState
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.waiting import ITEMS, WaitingFor
from shipyard_api.ports.state.turns import Claim
from shipyard_api.workflow.attempts import Again
from shipyard_api.workflow.step import Done, Failed, Folded, Gather
from shipyard_api.workflow.turn import Engine, _waiting_for_items
from tests.fakes.clock import FakeClock
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=5)
THEIRS, OTHERS = WaitingFor(ITEMS, "the items of s", EARLIER), WaitingFor(ITEMS, "the items of r", EARLIER)
PEER, NEXT = WaitingFor("Kubernetes", "n1 to be drained", EARLIER), WaitingFor("etcd", "a member of n2", NOW)
NEW = WaitingFor(ITEMS, "the items of s", NOW)


@every_row(
    [
        # what the step waited for before, what its items wait for; what it waits for, and whether they were asked
        (None, PEER, NEW, False),
        (THEIRS, PEER, THEIRS, False),
        (OTHERS, PEER, NEW, False),
        (PEER, NEXT, NEXT, True),
        (PEER, None, NEW, True),
    ]
)
def test_items_are_asked_what_they_wait_for_only_if_one_may_have_said(
    before: WaitingFor | None, known: WaitingFor | None, waiting: WaitingFor, asked: bool
) -> None:
    claims: list[Any] = []
    items = SimpleNamespace(waiting_for=lambda claim: claims.append(claim) or known)
    claim: Any = SimpleNamespace(waiting=before)
    step: Any = SimpleNamespace(id="s")
    assert _waiting_for_items(SimpleNamespace(items=items), claim, step, NOW) == waiting  # type: ignore[arg-type]
    assert bool(claims) is asked


class Kind:
    """A step, which decides what a test wants; ``fans_out``: it has items."""

    always = False
    id = StepId("s")

    def __init__(self, decision: Any, *, fans_out: bool) -> None:
        self.decision = decision
        self.item_kind = object() if fans_out else None

    def load_state(self, stored: Any) -> Any:
        return stored

    def decide(self, state: Any, now: datetime) -> Any:
        return self.decision

    def gather(self, state: Any, ended: Any, now: datetime) -> Any:
        waits = NOW + timedelta(seconds=5) if "waits" in ended else None
        return Folded(SimpleNamespace(to_json=lambda: {"gathered": ended}), wait_until=waits)

    def watch(self, state: Any, now: datetime) -> None:
        return None

    def leave(self, state: Any, why: str) -> tuple[Any, ...]:
        return ()


class Rows:
    """The rows of turns and items, of which some are open and some have ended."""

    def __init__(self, *, is_open: bool = False, ended: tuple[str, ...] = ()) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.is_open, self.ended = is_open, ended

    def stop_open(self, claim: Claim, why: str, *, now: datetime) -> bool:
        self.calls.append(("stop_open", why))
        return self.is_open

    def gather(self, claim: Claim) -> tuple[tuple[str, ...], bool]:
        self.calls.append(("gather",))
        return self.ended, self.is_open

    def rest(self, claim: Claim, *, waiting: WaitingFor) -> None:
        self.calls.append(("rest", waiting.what))

    def skip(self, claim: Claim, steps: Any, *, now: datetime) -> None:
        self.calls.append(("skip", steps))

    def record(self, claim: Claim, state: Any, facts: Any, *, now: datetime, wake_at: Any, items: Any = ()) -> None:
        self.calls.append(("record", state, *([wake_at - now] if wake_at else [])))

    def wake_resting(self, claim: Claim, *, now: datetime) -> None:
        self.calls.append(("wake_resting",))

    def end_step(self, claim: Claim, state: StepState, detail: str, *_: Any, now: datetime) -> None:
        self.calls.append(("end_step", state, detail))


CLAIM = Claim(
    *(ActionId("a"), ActionName("deploy_site"), 3, "w1", StepId("s"), {"v": 1}, None, (), False, False, None),
    *("ann", "", "", None, LostHistory(NOW, None)),
)
STOPPED = replace(CLAIM, stopped_by="bob")
RESTS, SKIPS = ("rest", "the items of s"), ("skip", (StepId("t"),))
WELL, ILL = Done("well", (StepId("t"),)), Failed("ill")
STOP = ("stop_open", "stopped by bob")


@every_row(
    [
        # the turn, what the step decides, whether it has items, which are open, and which ended; what follows
        (CLAIM, WELL, True, True, (), Again.LATER, [("stop_open", "their step has succeeded"), RESTS]),
        (CLAIM, ILL, True, True, (), Again.LATER, [("stop_open", "their step has failed"), RESTS]),
        (
            *(CLAIM, WELL, True, False, (), Again.NOW),
            [("stop_open", "their step has succeeded"), SKIPS, ("end_step", StepState.SUCCESS, "well")],
        ),
        (
            *(CLAIM, ILL, True, False, (), Again.NOW),
            [("stop_open", "their step has failed"), ("end_step", StepState.FAILED, "ill")],
        ),
        (CLAIM, WELL, False, False, (), Again.NOW, [SKIPS, ("end_step", StepState.SUCCESS, "well")]),
        (CLAIM, ILL, False, False, (), Again.NOW, [("end_step", StepState.FAILED, "ill")]),
        (CLAIM, Gather(), True, True, (), Again.LATER, [("gather",), ("wake_resting",), RESTS]),
        (
            *(CLAIM, Gather(), True, True, ("n1",), Again.NOW),
            [("gather",), ("wake_resting",), ("record", {"gathered": ("n1",)})],
        ),
        (
            *(CLAIM, Gather(), True, True, ("waits",), Again.LATER),
            [("gather",), ("wake_resting",), ("record", {"gathered": ("waits",)}, timedelta(seconds=5))],
        ),
        (STOPPED, WELL, True, True, (), Again.LATER, [STOP, RESTS]),
        (STOPPED, WELL, True, False, ("n1",), Again.NOW, [STOP, ("gather",), ("record", {"gathered": ("n1",)})]),
        (
            *(STOPPED, WELL, False, False, (), Again.NOW),
            [("record", {"v": 1}), ("end_step", StepState.FAILED, "stopped by bob")],
        ),
    ]
)
def test_a_step_ends_after_its_items(
    claim: Claim, decision: Any, fans_out: bool, is_open: bool, ended: Any, again: Again, calls: list[Any]
) -> None:
    engine = Engine(cast(Any, None), {}, FakeClock(NOW), settle=10, worker="w1")
    engine._known_steps[claim.action] = cast(Any, {"s": Kind(decision, fans_out=fans_out)})
    rows = Rows(is_open=is_open, ended=ended)
    assert engine._decide(cast(Any, SimpleNamespace(turns=rows, items=rows)), claim, None) is again
    assert rows.calls == calls
