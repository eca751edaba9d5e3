"""One attempt after another, without a database: when an intent is looked into, sent, given up, and what is written."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.steps import StepsSkipped
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold, HoldId, HoldKind, NodeWork
from shipyard_api.domain.items import ItemId, NewItem
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, DoubtfulJob, JobAnswers
from shipyard_api.domain.waiting import Awaited, WaitingFor, of_doubt
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable, Undecided
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Intent
from shipyard_api.workflow.attempts import Again, Attempt, Attempts, _awaits
from shipyard_api.workflow.bulkhead import PATIENCE, Bulkhead
from shipyard_api.workflow.step import Act, Folded, Json, Look, PeerFailure, Unit
from tests.fakes.clock import FakeClock
from tests.unit.tables import every_row

SETTLE = 10.0
MARKER = Marker("m-1")
FACT = StepsSkipped((StepId("later"),))
BROKEN = "broken on purpose"
TX: Any = None  # no database
ITEM = NewItem(ItemId("one"), {})
NOTHING_SHOWN = LostHistory(FakeClock().now() - timedelta(hours=1), None)
N1, N2 = NodeName("n1"), NodeName("n2")
DOUBT = Doubt("Peer", "deploy_nodes", (N1,), (DoubtfulJob("j", "deploy_nodes", (N1, N2)),))


@dataclass(frozen=True)
class Sent:
    """State and effect of the sample unit: what was reported so far, and what is sent."""

    reports: tuple[Any, ...] = ()

    def to_json(self) -> Json:
        return {"v": 1, "reports": [str(one) for one in self.reports]}


@dataclass
class Sample(Unit[Sent, str, Sent, str]):
    """``errors``: raised by the next calls of a method. Each call takes ``takes`` seconds.

    A submission whose answer is lost is found once it has arrived, ``arrives_after`` seconds after it was sent.
    ``waits_from``: when the unit would not decide its effect any more.
    """

    clock: FakeClock
    errors: dict[str, list[PeerError]] = field(default_factory=dict)
    takes: dict[str, float] = field(default_factory=dict)
    folded: dict[str, Any] = field(default_factory=dict)
    watched: Look[str] | None = None
    awaited: Awaited | None = None
    found: str | None = None
    arrives_after: float | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    arrives: list[datetime] = field(default_factory=list)
    nodes: tuple[NodeName, ...] = ()
    marks: bool = True
    wanted: Sent = Sent()
    waits_from: datetime | None = None

    def unmarked(self, effect: Sent) -> bool:
        return not self.marks

    def load_state(self, stored: Json) -> Sent:
        return Sent()

    def load_effect(self, stored: Json) -> Sent:
        return Sent(tuple(stored["reports"]))

    def decide(self, state: Sent, now: datetime) -> Act[Sent] | Look[str]:
        return Look("?") if self.waits_from is not None and now >= self.waits_from else Act(self.wanted, now)

    def ask(self, question: str) -> str:
        self._call("ask", question)
        return "answer"

    def perform(self, effect: Sent, marker: Marker) -> str:
        if self.arrives_after is not None:
            self.arrives.append(self.clock.now() + timedelta(seconds=self.arrives_after))
        self._call("perform", marker)
        return "done"

    def find(self, effect: Sent, marker: Marker, since: datetime, answers: JobAnswers) -> str | None:
        self._call("find", marker, since)
        return "found" if any(at <= self.clock.now() for at in self.arrives) else self.found

    def touches(self, effect: Sent) -> tuple[NodeName, ...]:
        return self.nodes

    def watch(self, state: Sent, now: datetime) -> Look[str] | None:
        return self.watched

    def awaits(self, state: Sent, asked: str | Sent) -> Awaited | None:
        return self.awaited

    def fold(self, state: Sent, asked: str | Sent, report: str | PeerFailure, now: datetime) -> Folded[Sent]:
        return Folded(Sent((*state.reports, report)), **self.folded)

    def _call(self, method: str, *arguments: Any) -> None:
        self.calls.append((method, *arguments))
        self.clock.advance(self.takes.get(method, 0.0))
        if self.errors.get(method):
            raise self.errors[method].pop(0)


@dataclass(frozen=True)
class Claim:
    state: Json | None = None
    intent: Intent | None = None
    on_hold: bool = False
    waiting: WaitingFor | None = None
    unit: tuple[str, ...] = ("a", "s")
    lost: LostHistory = NOTHING_SHOWN
    stopped: str | None = None

    @property
    def log_fields(self) -> dict[str, str | int]:
        return {"action": "a", "step": "s"}


@dataclass
class Rows:
    """Writes nothing but a list of what it was told. ``fenced``: a later turn has begun. ``holds`` are active.

    ``asked_for``: by control verbs, since the claim. ``locked``: waits for the lock of the holds, by lengthening time.
    """

    written: list[tuple[Any, ...]] = field(default_factory=list)
    fenced: bool = False
    waited: list[WaitingFor | None] = field(default_factory=list)
    holds: tuple[Hold, ...] = ()
    asked_for: dict[str, Any] = field(default_factory=dict)
    locked: Callable[[], None] = lambda: None

    def renew(self, claim: Claim) -> Claim:
        if self.fenced:
            raise Fenced("a later turn has begun")
        return dataclasses.replace(claim, **self.asked_for)

    def held(self, claim: Claim, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
        self.locked()
        return [hold for hold in self.holds if hold.node in nodes]

    def wait(self, claim: Claim, waiting: WaitingFor) -> Claim:
        self.waited.append(waiting)
        return dataclasses.replace(claim, waiting=waiting)

    def intend(self, claim: Claim, intent: Intent, *, now: datetime | None = None) -> Claim:
        self._write("intend", intent)
        return dataclasses.replace(claim, intent=intent)

    def record(
        self,
        claim: Claim,
        state: Json,
        facts: tuple[Fact, ...],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: tuple[NewItem, ...] = (),
        waiting: WaitingFor | None = None,
    ) -> Claim:
        self.waited.append(waiting)
        self._write("record", tuple(state["reports"]), facts, wake_at, items)
        return dataclasses.replace(claim, state=state, intent=None, **self.asked_for)

    def tell(self, claim: Claim, facts: Sequence[Fact], *, now: datetime) -> None:
        self._write("tell", *facts)

    def sleep(self, claim: Claim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        self.waited.append(waiting)
        self._write("sleep", until)

    def rest(self, claim: Claim, *, waiting: WaitingFor | None = None) -> None:
        self.waited.append(waiting)
        self._write("rest")

    def _write(self, *what: Any) -> None:
        if self.fenced:
            raise Fenced("a later turn has begun")
        self.written.append(what)


class World:
    """The engine room of one unit. ``commit_takes``: seconds that the next commits take."""

    def __init__(self, limit: int = 100, settle: float = SETTLE) -> None:
        self.clock = FakeClock()
        self.unit = Sample(self.clock)
        self.rows = Rows()
        self.commit_takes: list[float] = []
        store: Any = self
        self.bulkhead = Bulkhead(self.clock.monotonic, most=1)
        self.attempts: Attempts[Claim] = Attempts(
            store, lambda _tx: self.rows, self.clock, settle=settle, bulkhead=self.bulkhead, limit=limit
        )
        self.decided: list[tuple[Claim, Sent]] = []

    @contextmanager
    def begin(self) -> Iterator[Any]:
        yield None
        self.clock.advance(self.commit_takes.pop(0) if self.commit_takes else 0.0)

    def at(self, seconds: float) -> datetime:
        """The time so many seconds from now."""
        return self.clock.now() + timedelta(seconds=seconds)

    def intent(self, attempts: int = 1, *, give_up_in: float = 300.0) -> Intent:
        now = self.clock.now()
        return Intent(MARKER, Sent(("x",)).to_json(), self.at(give_up_in), self.at(-500.0), now, attempts)

    def attempt(self, intent: Intent | None = None, *, on_hold: bool = False) -> Attempt[Claim]:
        asked = "question" if intent is None else Sent()
        return Attempt(Claim(intent=intent, on_hold=on_hold), self.unit, Sent(), asked, self.clock.monotonic())

    def run(
        self, attempt: Attempt[Claim], *following: Callable[[Claim], Attempt[Claim]] | Again, age: float = 0.0
    ) -> Again:
        """Carry it out ``age`` seconds after the time of its intent; then what follows is decided, in order."""
        left = list(following) or [Again.LATER]

        def decide(_tx: Any, claim: Claim, state: Sent) -> Attempt[Claim] | Again:
            self.decided.append((claim, state))
            chosen = left.pop(0) if len(left) > 1 else left[0]
            return chosen if isinstance(chosen, Again) else chosen(claim)

        return self.attempts.run(replace(attempt, at=attempt.at - age), decide)

    def methods(self) -> list[str]:
        return [call[0] for call in self.unit.calls]

    def kinds(self) -> list[str]:
        return [one[0] for one in self.rows.written]


def hold(world: World, node: NodeName) -> Hold:
    return Hold(HoldId(f"h-{node}"), node, HoldKind.MAINTENANCE, "new disk", "ann", world.clock.now())


def unavailable(operation: str = "submit") -> Unavailable:
    return Unavailable("Peer", operation, BROKEN)


def refused(operation: str = "submit") -> Refused:
    return Refused("Peer", operation, "403")


# --- When an intent without outcome is taken up -----------------------------------------------------------------------


@every_row([1, 2, 9])
def test_an_intent_is_looked_into_when_what_was_sent_has_arrived(attempts: int) -> None:
    """A search is no attempt to send: the next turn need not wait for one that was cut short."""
    world = World()
    intent = world.intent(attempts)
    claim, due = Claim(intent=intent), world.at(SETTLE)

    early = world.attempts.resume(TX, claim, world.unit, Sent(), intent, due - timedelta(milliseconds=1))

    assert (early, world.rows.written) == (Again.LATER, [("sleep", due)])
    world.rows.written.clear()
    taken_up = world.attempts.resume(TX, claim, world.unit, Sent(), intent, due)
    again = replace(intent, attempts=attempts + 1)
    assert (taken_up.claim.intent, taken_up.asked) == (again, Sent(("x",)))
    assert world.rows.written == [("intend", again)]


def test_a_repeatable_effect_is_taken_up_at_once() -> None:
    world = World()
    begun = world.attempts.begin(
        TX, Claim(), world.unit, Sent(), Act(Sent(("x",)), world.at(40), repeatable=True), world.clock.now()
    )
    assert begun.claim.intent is not None

    taken_up = world.attempts.resume(TX, begun.claim, world.unit, Sent(), begun.claim.intent, world.clock.now())

    assert taken_up.claim.intent == replace(begun.claim.intent, attempts=2)


def test_a_submission_that_arrives_late_is_found_and_not_sent_twice() -> None:
    """It begins as late as it may, its answer is lost, and it arrives just before the search."""
    world = World()
    world.unit.arrives_after = 0.9 * SETTLE / 2
    world.unit.errors = {"perform": [unavailable()]}
    intent = world.intent()
    world.clock.advance(SETTLE / 2)
    assert world.run(world.attempt(intent), age=SETTLE / 2) is Again.LATER
    (woken,) = [one[1] for one in world.rows.written if one[0] == "sleep"]

    def delivered() -> Attempt[Claim] | Again:
        return world.attempts.resume(TX, Claim(intent=intent), world.unit, Sent(), intent, world.clock.now())

    world.clock.advance(0.3 * SETTLE)  # a doubled delivery
    assert delivered() is Again.LATER
    world.clock.advance(0.7 * SETTLE)
    assert world.clock.now() == woken
    taken_up = delivered()
    assert isinstance(taken_up, Attempt)
    world.run(taken_up)

    assert world.methods() == ["perform", "find"]
    assert world.rows.written[-1][:2] == ("record", ("found",))


# --- How an effect begins ---------------------------------------------------------------------------------------------


def test_an_effect_begins_with_its_intent_and_a_question_with_nothing() -> None:
    world = World()
    now, give_up_at = world.clock.now(), world.at(40)

    act = world.attempts.begin(TX, Claim(), world.unit, Sent(), Act(Sent(("x",)), give_up_at), now)
    look = world.attempts.begin(TX, Claim(on_hold=True), world.unit, Sent(), Look("question"), now)

    stored = Sent(("x",)).to_json()
    intent = Intent(Marker(marker_of("a", "s", effect=stored)), stored, give_up_at, now, now, 1)
    assert (act.claim.intent, act.asked) == (intent, Sent(("x",)))
    assert (look.claim.intent, look.asked) == (None, "question")
    assert world.rows.written == [("intend", intent)]


@every_row(product(["question", "effect", "effect of unknown outcome"], [False, True]))
def test_nothing_begins_while_too_many_turns_wait_for_the_peer(sort: str, on_hold: bool) -> None:
    """It is put off without an intent; once the peer answers again it begins as ever."""
    world = World()
    world.unit.awaited = Awaited("Peer", "the work")
    world.unit.watched = Look("question")
    intent = replace(world.intent(), attempted_at=world.at(-SETTLE)) if "unknown" in sort else None
    claim = Claim(intent=intent, on_hold=on_hold)
    decision = Look("question") if sort == "question" else Act(Sent(("x",)), world.at(400))

    def delivered() -> Attempt[Claim] | Again:
        if intent is not None:
            return world.attempts.resume(TX, claim, world.unit, Sent(), intent, world.clock.now())
        return world.attempts.begin(TX, claim, world.unit, Sent(), decision, world.clock.now())

    with world.bulkhead.calling("Peer"):
        world.clock.advance(PATIENCE + 0.1)
        assert delivered() is Again.PUT_OFF
    assert world.rows.written == [("sleep", world.at(SETTLE))]
    (waiting,) = world.rows.waited
    assert waiting.last_answer == "Peer answers none of the requests of this worker, so no more are sent"
    world.clock.advance(SETTLE)
    assert isinstance(delivered(), Attempt)


@every_row(product([0.0, SETTLE], ["found", None]))
def test_after_a_loss_every_effect_is_looked_for_before_it_is_sent(since: float, found: str | None) -> None:
    """As if it had been sent until the loss was noticed; what may be repeated is sent at once."""
    world = World()
    world.unit.wanted = Sent(("x",))
    world.unit.found = found
    world.unit.folded = {"facts": (JobStarted("deploy_nodes", "j-1"),)}
    lost = LostHistory(after=world.at(-100), noticed=world.at(-since))
    claim, act = Claim(lost=lost), Act(Sent(("x",)), world.at(40))

    begun = world.attempts.begin(TX, claim, world.unit, Sent(), act, world.clock.now())
    if since < SETTLE:
        assert begun is Again.LATER
        intent = world.rows.written[0][1]
        world.clock.advance(SETTLE - since)
        begun = world.attempts.resume(
            TX, dataclasses.replace(claim, intent=intent), world.unit, Sent(), intent, world.clock.now()
        )
    assert isinstance(begun, Attempt)
    world.run(begun)

    searched = [call[2] for call in world.unit.calls if call[0] == "find"]
    assert searched == [lost.after]
    assert world.methods() == (["find"] if found else ["find", "perform"])
    assert world.rows.written[-1][:2] == ("record", ("found" if found else "done",))
    notes = [fact.text for fact in world.rows.written[-1][2] if isinstance(fact, Noted)]
    assert notes == (["Sent, job j-1: found there, and not sent again"] if found else [])

    repeatable = world.attempts.begin(TX, claim, world.unit, Sent(), replace(act, repeatable=True), world.clock.now())
    assert repeatable.claim.intent.attempts == 1


@every_row(product(["found", None], [0.0, SETTLE / 2, SETTLE / 2 + 1], [None, {"stopped": "stopped by ann"}]))
def test_what_a_peer_keeps_no_mark_of_is_looked_for_before_it_is_first_sent(
    found: str | None, takes: float, asked_for: dict[str, Any] | None
) -> None:
    """Some losses leave no sign. It is not waited for anything; a look that takes long is followed by a new intent."""
    world = World()
    world.unit.wanted = Sent(("x",))
    world.unit.marks, world.unit.found, world.unit.takes = False, found, {"find": takes}
    world.unit.folded = {"facts": (JobStarted("deploy_nodes", "j-1"),)}
    claim, act = Claim(lost=LostHistory(world.at(-100), None)), Act(Sent(("x",)), world.at(40))

    begun = world.attempts.begin(TX, claim, world.unit, Sent(), act, world.clock.now())
    assert isinstance(begun, Attempt)
    late = takes > SETTLE / 2
    world.rows.asked_for = asked_for or {}
    world.run(begun)

    sent = not found and not (late and asked_for)
    assert world.unit.calls[0][2] == claim.lost.after
    assert world.methods() == (["find", "perform"] if sent else ["find"])
    assert world.kinds() == ["intend", *(["intend"] if late and sent else []), "record"]
    assert world.rows.written[-1][1] == ((found,) if found else ("done",) if sent else ())
    notes = [fact.text for fact in world.rows.written[-1][2] if isinstance(fact, Noted)]
    assert notes == (["Sent, job j-1: found there, and not sent again"] if found else [])

    repeatable = replace(act, repeatable=True)
    world.run(world.attempts.begin(TX, claim, world.unit, Sent(), repeatable, world.clock.now()))
    assert world.methods()[-1] == "perform"
    assert world.methods().count("find") == 1


@every_row([(1, "Peer"), (2, "operator"), (3, "operator")])
def test_an_operator_is_awaited_once_the_effect_itself_was_looked_for(attempts: int, who: str) -> None:
    world = World()
    world.unit.awaited = Awaited("Peer", "deploy n1")
    waiting = of_doubt("a", DOUBT).after(None, world.clock.now())
    claim = Claim(intent=world.intent(attempts), waiting=waiting)
    awaited = _awaits(claim, world.unit, Sent(), Sent())
    assert awaited is not None
    assert awaited.who == who


def test_a_turn_makes_way_for_others_after_a_hundred_attempts() -> None:
    world = World()
    store: Any = world
    attempts: Attempts[Claim] = Attempts(
        store, lambda _tx: world.rows, world.clock, settle=SETTLE, bulkhead=world.bulkhead
    )
    question = world.attempt()
    assert attempts.run(question, lambda _tx, claim, state: question) is Again.NOW
    assert world.methods().count("ask") == 100


def test_what_only_a_person_knows_is_asked_once_and_awaited_until_it_is_answered() -> None:
    world = World()
    world.unit.wanted = Sent(("x",))
    world.unit.awaited = Awaited("Peer", "deploy n1")
    lost = LostHistory(world.at(-100), world.at(-2 * SETTLE))
    world.unit.errors = {"find": [Undecided(DOUBT), unavailable(), Undecided(DOUBT)]}
    claim = Claim(lost=lost)
    begun = world.attempts.begin(TX, claim, world.unit, Sent(), Act(Sent(("x",)), world.at(400)), world.clock.now())
    answers = []
    for _ in range(3):
        assert world.run(begun) is Again.LATER
        waiting = world.rows.waited[-1]
        assert (waiting.who, waiting.what, waiting.doubt) == ("operator", "answers: shipyard reconcile a", DOUBT)
        answers.append(waiting.last_answer)
        assert world.kinds().count("tell") == 1
        intent = begun.claim.intent
        assert intent is not None
        claim = Claim(intent=intent, waiting=waiting, lost=lost)
        world.clock.advance(SETTLE)
        begun = world.attempts.resume(TX, claim, world.unit, Sent(), intent, world.clock.now())
        assert world.rows.waited[-1].doubt == DOUBT

    assert answers == [str(DOUBT), str(unavailable()), str(DOUBT)]
    told = [one[1].text for one in world.rows.written if one[0] == "tell"]
    assert told == [f"{DOUBT}. Look at it there, then answer with: shipyard reconcile a"]
    assert isinstance(begun, Attempt)
    world.run(begun)
    assert world.rows.written[-1][:2] == ("record", ("done",))


WHY = {N1: "held (maintenance) by ann: new disk"}
HELD = PeerFailure("node n1 is held (maintenance) by ann: new disk", refused=True, nodes=WHY)


@every_row([None, 30.0])
def test_no_effect_begins_on_a_held_node(wait: float | None) -> None:
    """The unit learns which nodes are held, in the transaction that would have written the intent."""
    world = World()
    world.unit.nodes, world.rows.holds = (N1, N2), (hold(world, N1),)
    world.unit.folded = {"wait_until": world.at(wait)} if wait else {}
    act = Act(Sent(("x",)), world.at(40))

    begun = world.attempts.begin(TX, Claim(), world.unit, Sent(), act, world.clock.now())

    assert begun is (Again.LATER if wait else Again.NOW)
    assert (world.rows.written[0][:2], len(world.rows.written)) == (("record", (str(HELD),)), 1)


@every_row([((), N1), ((N1,), N2)])
def test_an_effect_on_other_nodes_begins_and_its_intent_names_them(nodes: tuple[NodeName, ...], held: NodeName) -> None:
    world = World()
    world.unit.nodes, world.rows.holds = nodes, (hold(world, held),)

    begun = world.attempts.begin(TX, Claim(), world.unit, Sent(), Act(Sent(), world.at(40)), world.clock.now())

    assert begun.claim.intent.touches == nodes


@every_row([None, "found"])
def test_what_was_sent_before_a_hold_goes_on_and_nothing_is_sent_once_more(found: str | None) -> None:
    world = World()
    world.unit.nodes, world.unit.found, world.rows.holds = (N1,), found, (hold(world, N1),)

    world.run(world.attempt(world.intent(attempts=2)))

    assert world.methods() == ["find"]
    assert world.kinds() == ["record"]
    assert world.rows.written[0][1] == (found or str(HELD),)


@every_row(
    product([{"stopped": "stopped by ann"}, {"on_hold": True}], [None, "found"], [False, True]),
)
def test_after_a_stop_or_a_pause_a_search_that_finds_nothing_ends_the_intent(
    asked_for: dict[str, Any], found: str | None, always: bool
) -> None:
    """Accepted since the claim. A stop, and no pause, lets the effects of a unit begin that always runs."""
    world = World()
    world.unit.found, world.rows.asked_for, world.unit.always = found, asked_for, always
    sent = always and "stopped" in asked_for and not found

    world.run(world.attempt(world.intent(attempts=2)))

    assert world.methods() == (["find", "perform"] if sent else ["find"])
    assert world.rows.written[-1][:2] == ("record", ("done",) if sent else (found,) if found else ())
    claim, state = world.decided[0]
    assert (claim.intent, claim.stopped, claim.on_hold) == (None, asked_for.get("stopped"), "on_hold" in asked_for)
    assert state == Sent(("done",) if sent else (found,) if found else ())


@every_row(product([None, 0, SETTLE], [None, "found"]))
def test_an_effect_that_is_not_decided_any_more_is_not_sent_again(waits: float | None, found: str | None) -> None:
    """As when a maintenance window has closed since the intent was written."""
    world = World()
    world.unit.found, world.unit.waits_from = found, None if waits is None else world.at(waits)
    sent = found is None and waits != 0

    world.run(world.attempt(world.intent(attempts=2)))

    assert world.methods() == (["find", "perform"] if sent else ["find"])
    assert world.rows.written[-1][:2] == ("record", ("done",) if sent else (found,) if found else ())


@every_row([None, Look("watched")])
def test_on_hold_no_effect_begins_and_what_runs_is_polled(watched: Look[str] | None) -> None:
    world = World()
    world.unit.watched = watched

    begun = world.attempts.begin(
        TX, Claim(on_hold=True), world.unit, Sent(), Act(Sent(), world.at(40)), world.clock.now()
    )

    if watched is None:
        assert (begun, world.rows.written) == (Again.LATER, [("rest",)])
    else:
        assert isinstance(begun, Attempt)
        assert (begun.claim.intent, begun.asked, world.rows.written) == (None, "watched", [])


# --- What is waited for -----------------------------------------------------------------------------------------------

PEER = Awaited("Peer", "work")


def test_what_an_effect_waits_for_is_written_once_with_its_limit() -> None:
    world = World()
    world.unit.awaited = PEER
    now, limit = world.clock.now(), world.at(300)
    begun = world.attempts.begin(TX, Claim(), world.unit, Sent(), Act(Sent(), limit), now)
    assert world.rows.waited == [WaitingFor("Peer", "work", now, deadline=limit)]

    again = world.attempts.begin(TX, begun.claim, world.unit, Sent(), Look("more"), world.at(5))
    assert isinstance(again, Attempt)
    assert len(world.rows.waited) == 1


def test_an_effect_of_unknown_outcome_waits_with_the_last_answer_and_the_next_attempt() -> None:
    world = World()
    world.unit.awaited = PEER
    world.unit.errors["perform"] = [Unavailable("Peer", "submit", "no answer")]
    intent, now = world.intent(), world.clock.now()

    world.run(world.attempt(intent))

    told = WaitingFor("Peer", "work", now, "Peer submit: no answer", None, world.at(SETTLE), intent.give_up_at)
    assert world.rows.waited == [told]


# --- What is sent, and when not ---------------------------------------------------------------------------------------


@every_row([(SETTLE / 2, True), (SETTLE / 2 + 0.001, False)])
def test_a_submission_begins_only_within_half_of_settle(age: float, sent: bool) -> None:
    world = World()

    ended = world.run(world.attempt(world.intent()), age=age)

    assert world.methods() == (["perform"] if sent else [])
    assert world.kinds() == (["record"] if sent else [])
    assert ended is (Again.LATER if sent else Again.NOW)


@every_row(["found", None])
def test_a_later_attempt_searches_first_and_sends_only_what_is_not_there(found: str | None) -> None:
    world = World()
    world.unit.found = found
    world.unit.takes = {"find": 7.0}  # longer than half of settle: what is sent afterwards has a newer intent
    intent = world.intent(2)
    world.run(world.attempt(intent))

    assert world.unit.calls[0] == ("find", MARKER, intent.intended_at)
    if found:
        assert (world.methods(), world.kinds()) == (["find"], ["record"])
    else:
        assert world.methods() == ["find", "perform"]
        assert world.rows.written[0] == ("intend", replace(intent, attempted_at=world.clock.now()))


def test_an_intent_that_was_written_again_ages_from_then_on() -> None:
    world = World()
    world.commit_takes = [SETTLE / 2 + 1]

    assert world.run(world.attempt(world.intent(2))) is Again.NOW
    assert world.methods() == ["find"]


@every_row(product([SETTLE, 0.0], [1, 2]))
def test_the_time_of_an_attempt_is_taken_after_the_last_wait(lock: float, attempts: int) -> None:
    """The lock of the holds is waited for; a submission that takes as long as it may has arrived when it is sought."""
    world = World()
    world.unit.nodes, world.rows.locked = (N1,), lambda: world.clock.advance(lock)
    world.unit.arrives_after = SETTLE / 2
    world.unit.errors = {"perform": [unavailable()]}
    world.commit_takes = [SETTLE / 2] if attempts > 1 else []
    if attempts == 1:
        act = Act(Sent(("x",)), world.at(400))
        attempt = world.attempts.begin(TX, Claim(), world.unit, Sent(), act, world.clock.now())
        assert isinstance(attempt, Attempt)
        world.clock.advance(SETTLE / 2)
    else:
        attempt = world.attempt(world.intent(attempts, give_up_in=400))
    world.run(attempt)
    intent = next(one[1] for one in reversed(world.rows.written) if one[0] == "intend")
    world.clock.advance((intent.attempted_at - world.clock.now()).total_seconds() + SETTLE)
    taken_up = world.attempts.resume(TX, Claim(intent=intent), world.unit, Sent(), intent, world.clock.now())

    assert isinstance(taken_up, Attempt)
    world.run(taken_up)
    assert world.methods()[-2:] == ["perform", "find"]
    assert world.rows.written[-1][:2] == ("record", ("found",))


def test_a_later_turn_that_began_during_the_search_sends_alone() -> None:
    world = World()
    world.rows.fenced = True

    with pytest.raises(Fenced):
        world.run(world.attempt(world.intent(2)))
    assert world.methods() == ["find"]


def test_a_following_effect_whose_commit_took_too_long_is_not_sent() -> None:
    world = World()
    world.commit_takes = [SETTLE / 2 + 1]

    assert world.run(world.attempt(), lambda _claim: world.attempt(world.intent()), Again.LATER) is Again.NOW
    assert world.methods() == ["ask"]


# --- Peers in trouble -------------------------------------------------------------------------------------------------


@every_row(
    {
        "unavailable": (unavailable(), SETTLE, 10, False),
        "unavailable, and the effect may be repeated": (unavailable(), SETTLE, 10, True),
        "busy": (Busy("Peer", "submit", "not now"), SETTLE, 10, False),
        "busy, with a short settle": (Busy("Peer", "submit", "not now"), 0.5, 0.5, False),
        "busy for less than settle": (Busy("Peer", "submit", "not now", retry_after=3), SETTLE, 10, False),
        "busy for longer": (Busy("Peer", "submit", "not now", retry_after=30), SETTLE, 30, False),
    },
)
def test_an_effect_whose_outcome_is_unknown_stays_intended_and_is_tried_later(
    error: PeerError, settle: float, pause: float, repeatable: bool
) -> None:
    world = World(settle=settle)
    world.unit.errors = {"perform": [error]}

    assert world.run(world.attempt(replace(world.intent(), repeatable=repeatable))) is Again.LATER
    assert world.rows.written == [("sleep", world.at(pause))]
    assert world.decided == []


def test_a_search_that_is_refused_refuses_not_the_work(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.unit.errors = {"find": [refused("find")]}

    assert world.run(world.attempt(world.intent(2))) is Again.LATER
    assert (world.methods(), world.rows.written) == (["find"], [("sleep", world.at(SETTLE))])
    (trouble,) = [getattr(one, "trouble", None) for one in caplog.records if one.message == "peer in trouble"]
    assert trouble == "Peer find: 403"


@every_row(
    {
        "refused": ("perform", refused(), True, PeerFailure("Peer submit: 403", refused=True)),
        "silent": ("perform", unavailable(), False, PeerFailure(f"Peer submit: {BROKEN}", False)),
        "no search": ("find", unavailable("find"), False, PeerFailure("Peer find: broken on purpose", False)),
        "search refused": ("find", refused("find"), False, PeerFailure("Peer find: 403", False)),
    },
)
def test_what_is_refused_or_out_of_time_is_folded_as_trouble(
    method: str, error: PeerError, in_time: bool, folded: PeerFailure
) -> None:
    world = World()
    world.unit.errors = {method: [error]}
    intent = world.intent(2 if method == "find" else 1, give_up_in=300.0 if in_time else 0.0)

    world.run(world.attempt(intent))

    assert world.kinds()[-1] == "record"
    assert world.decided[0][1] == Sent((folded,))
    assert world.decided[0][0].intent is None


def test_a_unit_that_judges_silence_hears_of_it_at_once_instead_of_waiting() -> None:
    class Judging(Sample):
        judges_silence = True

    world = World()
    world.unit = Judging(world.clock, errors={"perform": [unavailable()]})
    world.run(world.attempt(replace(world.intent(), repeatable=True)))
    assert (world.kinds(), world.decided[0][1]) == (["record"], Sent((PeerFailure(f"Peer submit: {BROKEN}", False),)))


@every_row(
    {
        "answered": (None, False),
        "refused": (refused(), False),
        "undecided": (Undecided(DOUBT), False),
        "silent": (unavailable(), True),
    },
)
def test_a_worker_whose_call_had_no_answer_lets_others_go_first(error: PeerError | None, lags: bool) -> None:
    world = World()
    world.unit.errors = {"perform": [error] if error else []}
    world.run(world.attempt(world.intent()))
    assert (world.bulkhead.lag() > 0) is lags


def test_an_effect_of_a_unit_that_says_nothing_of_marks_is_sent_without_a_search() -> None:
    class Plain(Sample):
        unmarked = Unit.unmarked

    world = World()
    world.unit = Plain(world.clock)
    world.run(world.attempt(world.intent()))
    assert world.methods() == ["perform"]


def test_an_effect_is_given_up_at_its_time_and_not_before() -> None:
    world = World()
    world.unit.errors = {"perform": [unavailable()]}
    world.unit.takes = {"perform": 4.0}

    world.run(world.attempt(world.intent(give_up_in=4.001)))

    assert world.kinds() == ["sleep"]


def test_a_question_without_answer_is_folded_at_once() -> None:
    world = World()
    world.unit.errors = {"ask": [unavailable("report")]}

    world.run(world.attempt())

    assert world.decided[0][1] == Sent((PeerFailure("Peer report: broken on purpose", refused=False),))


# --- How a turn goes on -----------------------------------------------------------------------------------------------


@every_row(list(Again))
def test_a_turn_ends_as_the_decision_says(again: Again) -> None:
    world = World()
    assert world.run(world.attempt(), again) is again
    assert world.rows.written == [("record", ("answer",), (), None, ())]


@every_row(
    {
        "waits": (False, 5, None, 5),
        "nothing to wait for": (False, None, 7, None),
        "watches while on hold": (True, None, 7, 7),
        "waits while on hold": (True, 5, 7, 5),
    },
)
def test_a_turn_ends_when_there_is_something_to_wait_for(
    on_hold: bool, wait: int | None, watch: int | None, wakes: int | None
) -> None:
    world = World()
    world.unit.folded = {
        name: world.at(seconds) for name, seconds in (("wait_until", wait), ("watch_at", watch)) if seconds is not None
    }

    assert world.run(world.attempt(on_hold=on_hold), Again.NOW) is (Again.NOW if wakes is None else Again.LATER)
    assert world.rows.written[0][3] == (None if wakes is None else world.at(wakes))
    assert len(world.decided) == (wakes is None)


def test_facts_and_items_are_written_with_the_outcome_and_facts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world = World()
    world.unit.folded = {"facts": (FACT,), "items": (ITEM,)}

    world.run(world.attempt())

    assert world.rows.written == [("record", ("answer",), (FACT,), None, (ITEM,))]
    (line,) = [one for one in caplog.records if one.message == "turn"]
    assert (getattr(line, "facts", None), getattr(line, "action", None)) == (["StepsSkipped"], "a")


@every_row([1, 3])
def test_after_its_attempts_a_turn_makes_way_for_another_delivery(limit: int) -> None:
    world = World(limit)

    assert world.run(world.attempt(), lambda _claim: world.attempt()) is Again.NOW
    # Nothing is decided after the last one: an intent would be written that nobody acts on.
    assert (world.kinds(), len(world.decided)) == (["record"] * limit, limit - 1)
