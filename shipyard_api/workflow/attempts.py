"""One attempt of a durable unit: decide, write the intent, perform, fold. The same for steps and work items.

Two rules keep a submission from happening twice although no peer knows our epochs. A submission begins only within half
of ``settle`` seconds after the time that its intent bears; and an intent without outcome is looked into only ``settle``
seconds after that time. Both count from one moment, which is taken after the last wait for a lock. So when ``find``
runs, whatever an earlier attempt sent has arrived. A search sends nothing: a worker that is killed during one delays
its successor by nothing.

Where the database may have lost the end of an action's history, an earlier attempt of every effect may be one that
nothing records. Its marker follows from the effect, so it is looked for first, as if it had been sent until the loss
was noticed. Some losses leave no sign. A peer that keeps our marks does nothing twice all the same; at one that keeps
none (``unmarked``), the effect is always looked for before it is first sent.

No effect begins on a held node: the transaction that writes an intent, or that sends it once more, reads the holds
under a lock that placing a hold waits for. The same transaction reads what control verbs have asked for: after a stop,
or a pause, a search that finds nothing ends the intent, and nothing is sent. It also ends if the unit would not decide
the effect any more, because a maintenance window has closed meanwhile.

While too many turns of this worker wait for a peer (``bulkhead``), an attempt at that peer does not begin: the unit is
put off, without an intent of its own if it has none yet.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Generic

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.log_lines import headline
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.waiting import Awaited, of_doubt
from shipyard_api.observing.telemetry import SUCCESS, Kind, observed
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable, Undecided
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.turns import Intent
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.workflow.bulkhead import Bulkhead, peer_of
from shipyard_api.workflow.claims import C, Rows, UnitClaim
from shipyard_api.workflow.step import Act, AnyUnit, Look, PeerFailure

LOG = logging.getLogger(__name__)

ATTEMPTS = 100
"""After this many attempts a turn makes way for another delivery."""

BROKEN_TURNS = 5
"""After this many turns in a row that ended in a bug of ours, the step or item fails."""

PAUSED = Awaited("operator", "unpause of the paused action", gates=None)
"""What a paused action waits for that has nothing under way."""

HISTORY_LOST = "History Lost"
"""The topic of notes about what the database may have lost the record of."""


class Again(Enum):
    """What the caller of a turn does next. ``PUT_OFF``: wait, as everything else does that needs the same peer."""

    NOW = "now"
    LATER = "later"
    PUT_OFF = "put off"


class Attempt(Struct, Generic[C], frozen=True):
    """What a transaction leaves for the world outside: a question, or an effect whose intent is in the claim.

    ``at``: the moment of the intent's time, on the clock that is never set.
    """

    claim: C
    unit: AnyUnit
    state: Any
    asked: Any
    at: float = 0.0


class TooLate(Struct, frozen=True):
    """Nothing was sent because the intent had become too old."""


class Reported(Struct, frozen=True):
    """The report on an attempt. ``already_sent``: the report of an earlier attempt; nothing was sent now."""

    report: Any
    already_sent: bool = False


class Held(Struct, frozen=True):
    """Nothing was sent because nodes of the effect are held."""

    holds: Sequence[Hold]


class Ended(Struct, frozen=True):
    """Nothing was sent because of a stop or a pause, or because it is not decided any more: the intent ends."""


Outcome = Reported | PeerError | TooLate | Held | Ended


class Attempts(Generic[C]):
    """Runs attempts. Has no state of its own."""

    def __init__(
        self,
        store: Store,
        rows: Callable[[Transaction], Rows[C]],
        clock: Clock,
        *,
        settle: float,
        bulkhead: Bulkhead,
        limit: int = ATTEMPTS,
    ) -> None:
        """``limit``: attempts in one turn; then the unit must be claimed again."""
        self._store = store
        self._bulkhead = bulkhead
        self._rows = rows
        self._clock = clock
        self._settle = settle
        self._limit = limit

    def resume(
        self, tx: Transaction, claim: C, unit: AnyUnit, state: Any, intent: Intent, now: datetime
    ) -> Attempt[C] | Again:
        """Take up an intent whose outcome is unknown, once whatever was sent for it must have arrived."""
        noticed = claim.lost.noticed
        sent = intent.attempted_at if noticed is None else max(intent.attempted_at, noticed)
        resume_at = now if intent.repeatable else sent + timedelta(seconds=self._settle)
        effect = unit.load_effect(intent.effect)
        if now < resume_at:
            awaited = _awaits(claim, unit, state, effect)
            waiting = None
            if awaited is not None:
                waiting = replace(awaited, deadline=intent.give_up_at).after(claim.waiting, now, resume_at)
            self._rows(tx).sleep(claim, until=resume_at, waiting=waiting)
            return Again.LATER
        if self._bulkhead.is_full(peer_of(unit, state, effect)):
            return self._put_off(tx, claim, unit, state, effect, now)
        again = replace(intent, attempts=intent.attempts + 1)
        claim = self._rows(tx).intend(claim, again, now=now)
        return self._attempt(tx, claim, unit, state, effect, now)

    def begin(
        self, tx: Transaction, claim: C, unit: AnyUnit, state: Any, decision: Act[Any] | Look[Any], now: datetime
    ) -> Attempt[C] | Again:
        """Write the intent of an effect. While the unit is on hold, poll the running effects instead."""
        if isinstance(decision, Act) and claim.on_hold:
            look = unit.watch(state, now)
            if look is None:
                self._rows(tx).rest(claim, waiting=PAUSED.after(claim.waiting, now))
                return Again.LATER
            decision = look
        asked = decision.question if isinstance(decision, Look) else decision.effect
        if self._bulkhead.is_full(peer_of(unit, state, asked)):
            return self._put_off(tx, claim, unit, state, asked, now)
        match decision:
            case Look(question):
                return self._attempt(tx, claim, unit, state, question, now)
            case Act(effect, give_up_at, repeatable):
                touches = tuple(unit.touches(effect))
                if touches and (holds := self._rows(tx).held(claim, touches, unit.work(effect))):
                    folded = self._fold(tx, claim, unit, state, effect, _trouble(claim, holds), now)
                    return Again.LATER if folded is None else Again.NOW
                stored = effect.to_json()
                marker = Marker(marker_of(*claim.unit, effect=unit.identity(stored)))
                at, now = self._clock.monotonic(), self._clock.now()
                intent = Intent(marker, stored, give_up_at, now, now, 1, repeatable, touches)
                after, noticed = claim.lost.after, claim.lost.noticed
                if not repeatable and (noticed is not None or unit.unmarked(effect)):
                    intent = replace(intent, intended_at=after, attempted_at=noticed or now)
                if not repeatable and noticed is not None:
                    claim = self._rows(tx).intend(claim, intent, now=now)
                    return self.resume(tx, claim, unit, state, intent, now)
                claim = self._rows(tx).intend(claim, intent)
                return replace(self._attempt(tx, claim, unit, state, effect, now), at=at)

    def _put_off(self, tx: Transaction, claim: C, unit: AnyUnit, state: Any, asked: Any, now: datetime) -> Again:
        """Let a unit wait because too many turns of this worker already wait for its peer."""
        why = f"{peer_of(unit, state, asked)} answers none of the requests of this worker, so no more are sent"
        LOG.warning("peer in trouble", extra={**claim.log_fields, "trouble": why})
        until = now + timedelta(seconds=self._settle)
        awaited, waiting = unit.awaits(state, asked), None
        if awaited is not None:
            deadline = claim.intent.give_up_at if claim.intent is not None else awaited.deadline
            waiting = replace(awaited, last_answer=why, deadline=deadline).after(claim.waiting, now, until)
        self._rows(tx).sleep(claim, until=until, waiting=waiting)
        return Again.PUT_OFF

    def _attempt(self, tx: Transaction, claim: C, unit: AnyUnit, state: Any, asked: Any, now: datetime) -> Attempt[C]:
        """Return the attempt, having written what it waits for if that is something else than before."""
        awaited = _awaits(claim, unit, state, asked)
        if awaited is not None:
            if claim.intent is not None:
                awaited = replace(awaited, deadline=claim.intent.give_up_at)
            waiting = awaited.after(claim.waiting, now)
            if not waiting.is_for(claim.waiting):
                claim = self._rows(tx).wait(claim, waiting)
        return Attempt(claim, unit, state, asked)

    def run(self, attempt: Attempt[C], decide: Callable[[Transaction, C, Any], Attempt[C] | Again]) -> Again:
        """Carry out attempts, whose intents are committed, until ``decide`` gives none."""
        for number in range(1, self._limit + 1):
            outcome = self._carry_out(attempt)
            if isinstance(outcome, TooLate):
                LOG.warning("intent too old to act on", extra=attempt.claim.log_fields)
                return Again.NOW
            with self._store.begin() as tx:
                recorded = self._record(tx, attempt, outcome)
                if recorded is None:
                    return Again.LATER
                if number == self._limit:
                    break
                following = decide(tx, *recorded)
            if isinstance(following, Again):
                return following
            attempt = following
        return Again.NOW

    def _carry_out(self, attempt: Attempt[C]) -> Outcome:
        """Touch the world, outside of any transaction."""
        name = _name(attempt.asked)
        peer = peer_of(attempt.unit, attempt.state, attempt.asked)
        with self._bulkhead.calling(peer), observed(Kind.EFFECT, name, {"effect": name}) as seen:
            outcome = self._attempted(attempt)
            if isinstance(outcome, Reported | PeerError):
                failed = isinstance(outcome, Unavailable) and not isinstance(outcome, Undecided)
                self._bulkhead.called(peer, reached=not failed)
            seen.outcome = SUCCESS if isinstance(outcome, Reported) else type(outcome).__name__.lower()
            return outcome

    def _attempted(self, attempt: Attempt[C]) -> Outcome:
        unit, intent, at = attempt.unit, attempt.claim.intent, attempt.at
        try:
            if intent is None:
                return Reported(unit.ask(attempt.asked))
            sent_before = intent.attempts > 1
            if sent_before or (not intent.repeatable and unit.unmarked(attempt.asked)):
                earlier = self._find(attempt, intent)
                if earlier is not None:
                    return Reported(earlier, already_sent=True)
                if sent_before or self._clock.monotonic() - at > self._settle / 2:
                    again = self._intend_again(attempt, intent)
                    if not isinstance(again, float):
                        return again
                    at = again
            if self._clock.monotonic() - at > self._settle / 2:
                return TooLate()
            return Reported(unit.perform(attempt.asked, intent.marker))
        except PeerError as error:
            return error

    def _record(
        self, tx: Transaction, attempt: Attempt[C], outcome: Reported | PeerError | Held | Ended
    ) -> tuple[C, Any] | None:
        """Fold what came back and write it, with facts, items and wake-up; return None if the unit must wait."""
        claim = attempt.claim
        now = self._clock.now()
        rows = self._rows(tx)
        if isinstance(outcome, PeerError):
            LOG.warning("peer in trouble", extra={**claim.log_fields, "trouble": str(outcome)})
            if isinstance(outcome, Undecided) and (claim.waiting is None or claim.waiting.doubt != outcome.doubt):
                rows.tell(claim, (_asked(claim, outcome),), now=now)
            if claim.intent is not None and self._keep_trying(attempt.unit, claim.intent, outcome, now):
                until = now + timedelta(seconds=self._pause_after(outcome))
                if isinstance(outcome, Undecided):
                    awaited = of_doubt(claim.unit[0], outcome.doubt)
                else:
                    awaited = _awaits(claim, attempt.unit, attempt.state, attempt.asked) or Awaited(
                        outcome.system, outcome.operation
                    )
                    awaited = replace(awaited, last_answer=str(outcome))
                awaited = replace(awaited, deadline=claim.intent.give_up_at)
                waiting = awaited.after(claim.waiting, now, until)
                if not waiting.is_for(claim.waiting) and (
                    facts := attempt.unit.outage_facts(attempt.asked, str(outcome))
                ):
                    rows.tell(claim, facts, now=now)
                rows.sleep(claim, until=until, waiting=waiting)
                return None
            report: Any = PeerFailure.of(outcome)
        elif isinstance(outcome, Ended):
            known = attempt.unit.outage_facts(attempt.asked, "") if claim.waiting is not None else ()
            return rows.record(claim, attempt.state.to_json(), known, now=now, wake_at=None), attempt.state
        elif isinstance(outcome, Held):
            report = _trouble(claim, outcome.holds)
        else:
            report = outcome.report
        lost = claim.lost.noticed is not None or (claim.intent is not None and claim.intent.attempts == 1)
        unrecorded = lost and isinstance(outcome, Reported) and outcome.already_sent
        taken_up = (lambda facts: _taken_up(attempt, facts)) if unrecorded else None
        return self._fold(tx, claim, attempt.unit, attempt.state, attempt.asked, report, now, taken_up)

    def _fold(
        self,
        tx: Transaction,
        claim: C,
        unit: AnyUnit,
        state: Any,
        asked: Any,
        report: Any,
        now: datetime,
        further: Callable[[tuple[Fact, ...]], Fact] | None = None,
    ) -> tuple[C, Any] | None:
        """Fold a report and write it, with what ``further`` makes of its facts; return None if the unit must wait."""
        folded = unit.fold(state, asked, report, now)
        facts = (further(folded.facts), *folded.facts) if further else folded.facts
        if claim.intent is not None and claim.waiting is not None and (known := unit.outage_facts(asked, "")):
            facts = (*known, *facts)
        wake_at = folded.wait_until or (folded.watch_at if claim.on_hold else None)
        waiting = folded.awaited.after(claim.waiting, now, wake_at) if folded.awaited and wake_at else None
        claim = self._rows(tx).record(
            claim,
            folded.state.to_json(),
            facts,
            now=now,
            wake_at=wake_at,
            items=folded.items,
            waiting=waiting,
        )
        log_facts(facts, claim.log_fields)
        return (claim, folded.state) if wake_at is None else None

    def _find(self, attempt: Attempt[C], intent: Intent) -> Any:
        try:
            answers = attempt.claim.lost.answers
            return attempt.unit.find(attempt.asked, intent.marker, intent.intended_at, answers)
        except Refused as error:
            # The peer refused the search, not the work: the outcome of the work stays unknown.
            raise Unavailable(error.system, error.operation, error.detail, marker=intent.marker) from error

    def _intend_again(self, attempt: Attempt[C], intent: Intent) -> float | Held | Ended:
        """Write that the effect is tried again, and return the moment; or return what forbids it.

        Raises Fenced if a later turn began meanwhile.
        """
        with self._store.begin() as tx:
            rows, unit, effect = self._rows(tx), attempt.unit, attempt.asked
            claim = rows.renew(attempt.claim)
            if claim.on_hold or ends(claim, unit) or not self._still_decided(attempt):
                LOG.info("not sent: stopped, paused, or decided otherwise by now", extra=claim.log_fields)
                return Ended()
            touches = unit.touches(effect)
            if touches and (holds := rows.held(claim, touches, unit.work(effect))):
                return Held(holds)
            at = self._clock.monotonic()
            rows.intend(claim, replace(intent, attempted_at=self._clock.now()))
            return at

    def _still_decided(self, attempt: Attempt[C]) -> bool:
        unit, effect = attempt.unit, attempt.asked
        decision = unit.decide(attempt.state, self._clock.now())
        return isinstance(decision, Act) and unit.identity(decision.effect.to_json()) == unit.identity(effect.to_json())

    def _keep_trying(self, unit: AnyUnit, intent: Intent, error: PeerError, now: datetime) -> bool:
        """Return whether an effect stays intended: its outcome is unknown, and there is time left to find out."""
        if intent.repeatable and unit.judges_silence:
            return False
        return not isinstance(error, Refused) and now < intent.give_up_at

    def _pause_after(self, error: PeerError) -> float:
        return max(self._settle, (error.retry_after or 0.0) if isinstance(error, Busy) else 0.0)


def ends(claim: UnitClaim, unit: AnyUnit) -> bool:
    """Return whether a stop ends the unit: none of its effects begins any more."""
    return claim.stopped is not None and not unit.always


def _name(asked: Any) -> str:
    """Return the name of an effect or question for metrics and traces; checks ask with a bare number or text."""
    kind = type(asked)
    return "Check" if kind.__module__ == "builtins" else kind.__name__


def _awaits(claim: UnitClaim, unit: AnyUnit, state: Any, asked: Any) -> Awaited | None:
    """Return what a unit waits for; an operator whom it has asked is awaited until the intent has an outcome."""
    looked_for = claim.intent is not None and claim.intent.attempts > 1  # before, the doubt is about another effect
    if looked_for and claim.waiting is not None and (doubt := claim.waiting.doubt):
        return of_doubt(claim.unit[0], doubt)
    return unit.awaits(state, asked)


def _asked(claim: UnitClaim, error: Undecided) -> Noted:
    """Return the fact that an operator is asked what the peer cannot show."""
    return Noted(HISTORY_LOST, f"{error.doubt}. Look at it there, then answer with: shipyard reconcile {claim.unit[0]}")


def _taken_up(attempt: Attempt[Any], facts: tuple[Fact, ...]) -> Noted:
    """Return the fact that the peer had been sent an effect of which the database has lost the record."""
    awaited = attempt.unit.awaits(attempt.state, attempt.asked)
    what = f"{awaited.what} at {awaited.who}" if awaited is not None else _name(attempt.asked)
    jobs = "".join(f", job {fact.job}" for fact in facts if isinstance(fact, PhaseStarted | JobStarted))
    return Noted(HISTORY_LOST, f"{what}{jobs}: found there, and not sent again")


def _trouble(claim: UnitClaim, holds: Sequence[Hold]) -> PeerFailure:
    """Return the trouble of an effect on held nodes, and log it."""
    trouble = PeerFailure.held(holds)
    LOG.warning("nodes are held", extra={**claim.log_fields, "holds": trouble.detail})
    return trouble


def log_facts(facts: tuple[Fact, ...], fields: dict[str, str | int]) -> None:
    """Log that a turn produced facts, and the facts that deserve a line of their own."""
    if facts:
        LOG.info("turn", extra={**fields, "facts": [type(fact).__name__ for fact in facts]})
    for fact in facts:
        if line := headline(fact):
            LOG.info(line.message, extra={**fields, **line.fields})
