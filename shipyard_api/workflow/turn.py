"""One pass of the engine over one action; whatever delivers it may do so twice, late, or never.

A turn takes the next epoch, which fences every turn before it, and asks the current step what to do. To change the
world it writes the intent with its marker, commits, performs, and writes the outcome together with the journal and the
next wake-up. A crash anywhere leaves either nothing or an intent without outcome; the next turn asks the peer for the
marker before it submits again.

Two rules keep a submission from happening twice although no peer knows our epochs. A submission is only begun within
half of ``settle`` seconds after its intent was committed; and an intent without outcome is only looked into ``settle``
seconds after it was last tried. So when we look, whatever an earlier turn sent has arrived.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from shipyard_api import request_context
from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepState
from shipyard_api.domain.headlines import headline
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from shipyard_api.ports.state.store import Store, Transaction
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.request_context import RequestContext
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import (
    Act,
    ActingStep,
    Done,
    Failed,
    Folded,
    Json,
    LeavingStep,
    Look,
    Step,
    Trouble,
    WatchingStep,
)

LOG = logging.getLogger(__name__)

# The longest pause between two attempts at an effect, in seconds; the pauses double up to it.
_LONGEST_PAUSE = 60.0
# How often in a row a turn may break before its step is given up.
_BROKEN_TURNS = 5
# Stands for a report when nothing was sent because the intent had become too old.
_TOO_LATE = object()


class Again(Enum):
    """What the caller of a turn does next."""

    NOW = "now"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What tx 1 leaves for the world outside: an effect to try, and when its intent was committed."""

    step: Step
    state: Json
    decision: Act | Look
    intent: Intent | None


class Engine:
    """Runs the turns of all actions. Has no state of its own: any number may run on any number of hosts."""

    def __init__(
        self,
        store: Store,
        definitions: Mapping[ActionName, Definition],
        clock: Clock,
        new_marker: Callable[[], Marker],
        *,
        settle: float,
        worker: str,
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._clock = clock
        self._new_marker = new_marker
        self._settle = settle
        self._worker = worker

    def run(self, action: ActionId) -> None:
        """Run turns of the action until it must wait, has ended, or another worker has taken over."""
        with request_context.restored():
            self._run(action)

    def _run(self, action: ActionId) -> None:
        try:
            while self.turn(action) is Again.NOW:
                pass
        except Fenced:
            LOG.warning("turn fenced", extra={"action": action, "worker": self._worker})
        except StoreUnavailable:
            # The sweeper wakes the action once the database is back; nothing can be written before that.
            LOG.exception("turn lost its database", extra={"action": action})
        except Exception as bug:
            LOG.exception("turn broke", extra={"action": action})
            self._broke(action, bug)

    def sweep(self, *, grace: float) -> int:
        """Queue a turn for every action that should be moving and is not; return how many there were."""
        with self._store.begin() as tx:
            overdue = tx.turns.overdue(grace=grace)
            for action in overdue:
                tx.turns.remind(action)
        return len(overdue)

    def turn(self, action: ActionId) -> Again:
        """Run one turn; raises Fenced when a later one has begun."""
        with self._store.begin() as tx:
            claim = tx.turns.claim(action, now=self._clock.now(), worker=self._worker)
            if claim is None:
                return Again.LATER
            request_context.begin(_origin(claim))
            attempt = self._decide(tx, claim)
            committed_at = self._clock.monotonic()
        if isinstance(attempt, Again):
            return attempt
        report = self._attempt(claim, attempt, committed_at)
        if report is _TOO_LATE:
            LOG.warning("intent too old to act on", extra={"action": action, "step": claim.step})
            return Again.NOW
        with self._store.begin() as tx:
            return self._record(tx, claim, attempt, report)

    def _broke(self, action: ActionId, bug: Exception) -> None:
        """Write down that a turn broke; after some in a row the step fails, so that nobody waits for ever."""
        with self._store.begin() as tx:
            claim = tx.turns.claim(action, now=self._clock.now(), worker=self._worker)
            if claim is None or claim.step is None:
                return
            now = self._clock.now()
            told = f"{type(bug).__name__}; the worker's log has the rest"
            in_a_row = tx.turns.broke(claim, told, now=now)
            if in_a_row < _BROKEN_TURNS:
                tx.turns.sleep(claim, until=now + timedelta(seconds=self._settle * in_a_row))
                return
            skipped = self._definitions[claim.name].skipped_by_failure(claim.remaining)
            tx.turns.end_step(claim, StepState.FAILED, f"internal error: {told}", skipped, now=now)
            tx.turns.sleep(claim, until=now)

    def _decide(self, tx: Transaction, claim: Claim) -> _Attempt | Again:
        definition = self._definitions[claim.name]
        now = self._clock.now()
        if claim.step is None:
            # A stop may be accepted when nothing is left to be stopped: what was promised is kept.
            ended = RunState.FAILED if claim.failed or claim.stopped_by is not None else RunState.SUCCESS
            tx.turns.end_action(claim, ended, now=now)
            LOG.info("action ended", extra={"action": claim.action, "state": ended.value})
            return Again.LATER
        step = definition.step(claim.step)
        state = claim.state
        # An intent without outcome comes first: what was sent for it is under way, and belongs to somebody.
        if claim.stopped_by is not None and claim.intent is None and not step.always:
            return self._stop(tx, claim, definition, step, claim.stopped_by, now)
        if claim.on_hold and state is None:
            tx.turns.rest(claim)
            return Again.LATER
        if state is None:
            state = step.begin(claim.inputs)
            tx.turns.start_step(claim, state, now=now)
        if claim.intent is not None:
            return self._resume(tx, claim, step, state, claim.intent, now)
        match step.decide(state, now):
            case Done(summary, skips):
                LOG.info("step succeeded", extra={"action": claim.action, "step": claim.step, "summary": summary})
                tx.turns.skip(claim, skips, now=now)
                tx.turns.end_step(claim, StepState.SUCCESS, summary, (), now=now)
                return Again.NOW
            case Failed(reason):
                LOG.warning("step failed", extra={"action": claim.action, "step": claim.step, "reason": reason})
                skipped = definition.skipped_by_failure(claim.remaining)
                tx.turns.end_step(claim, StepState.FAILED, reason, skipped, now=now)
                return Again.NOW
            case Look() as look:
                return _Attempt(step, state, look, None)
            case Act() if claim.on_hold:
                return self._watch(tx, claim, step, state, now)
            case Act() as act:
                intent = Intent(self._new_marker(), act.effect, act.give_up_at, now, now, 1)
                tx.turns.intend(claim, intent)
                return _Attempt(step, state, act, intent)

    def _watch(self, tx: Transaction, claim: Claim, step: Step, state: Json, now: datetime) -> _Attempt | Again:
        """Watch what was started to its end; nothing new starts."""
        match step.watch(state, now) if isinstance(step, WatchingStep) else None:
            case Look() as look:
                return _Attempt(step, state, look, None)
            case None:
                tx.turns.rest(claim)
                return Again.LATER

    def _stop(
        self, tx: Transaction, claim: Claim, definition: Definition, step: Step, user: str, now: datetime
    ) -> Again:
        """End the step where it stands, and with it all that would follow but for what always runs."""
        why = f"stopped by {user}"
        LOG.warning("step stopped", extra={"action": claim.action, "step": claim.step, "user": user})
        if claim.state is not None and isinstance(step, LeavingStep):
            tx.turns.record(claim, claim.state, step.leave(claim.state, why), now=now, wake_at=None)
        tx.turns.end_step(claim, StepState.FAILED, why, definition.skipped_by_failure(claim.remaining), now=now)
        return Again.NOW

    def _resume(
        self, tx: Transaction, claim: Claim, step: Step, state: Json, intent: Intent, now: datetime
    ) -> _Attempt | Again:
        """Take up an intent whose outcome is unknown, once what was sent for it must have arrived."""
        pause = min(self._settle * 2 ** (intent.attempts - 1), max(self._settle, _LONGEST_PAUSE))
        due = intent.attempted_at + timedelta(seconds=pause)
        if now < due:
            tx.turns.sleep(claim, until=due)
            return Again.LATER
        again = replace(intent, attempted_at=now, attempts=intent.attempts + 1)
        tx.turns.intend(claim, again)
        return _Attempt(step, state, Act(intent.effect, intent.give_up_at), again)

    def _attempt(self, claim: Claim, attempt: _Attempt, committed_at: float) -> object:
        """Touch the world and return what came of it: a report, a failure of the peer, or that it is too late."""
        step, intent = attempt.step, attempt.intent
        try:
            if intent is None:
                return step.look(attempt.decision.effect)
            if not isinstance(step, ActingStep):
                raise TypeError(f"{step.id} cannot act")
            if intent.attempts > 1:
                found = self._find(step, intent)
                if found is not None:
                    return found
                committed_at = self._intend_again(claim, intent)
            if self._clock.monotonic() - committed_at > self._settle / 2:
                return _TOO_LATE
            return step.perform(intent.effect, intent.marker)
        except PeerError as error:
            return error

    def _find(self, step: ActingStep, intent: Intent) -> object | None:
        try:
            return step.find(intent.effect, intent.marker, intent.intended_at)
        except Refused as error:
            # It refused to let us look, not the work: what became of that stays unknown.
            raise Unavailable(error.system, error.operation, error.detail, marker=intent.marker) from error

    def _intend_again(self, claim: Claim, intent: Intent) -> float:
        """Write that the effect is tried once more, and return when. Looking for it may have taken long, and a turn
        that took over meanwhile has looked for itself: then this raises Fenced, and nothing is sent.
        """
        with self._store.begin() as tx:
            tx.turns.intend(claim, replace(intent, attempted_at=self._clock.now()))
            return self._clock.monotonic()

    def _record(self, tx: Transaction, claim: Claim, attempt: _Attempt, report: object) -> Again:
        now = self._clock.now()
        if isinstance(report, PeerError):
            LOG.warning("peer in trouble", extra={"action": claim.action, "step": claim.step, "trouble": str(report)})
            if self._keep_trying(attempt.intent, report, now):
                tx.turns.sleep(claim, until=now + timedelta(seconds=self._pause_after(report)))
                return Again.LATER
            report = Trouble.of(report)
        folded: Folded = attempt.step.fold(attempt.state, attempt.decision.effect, report, now)
        wake_at = folded.wait_until or (folded.watch_at if claim.on_hold else None)
        tx.turns.record(claim, folded.state, folded.facts, now=now, wake_at=wake_at)
        if folded.facts:
            told = [type(fact).__name__ for fact in folded.facts]
            LOG.info("turn", extra={"action": claim.action, "step": claim.step, "epoch": claim.epoch, "facts": told})
        for fact in folded.facts:
            if line := headline(fact):
                LOG.info(line.message, extra={"action": claim.action, **line.fields})
        return Again.NOW if wake_at is None else Again.LATER

    def _keep_trying(self, intent: Intent | None, error: PeerError, now: datetime) -> bool:
        """Return whether an effect stays intended: its outcome is unknown, and there is time left to find out."""
        return intent is not None and not isinstance(error, Refused) and now < intent.give_up_at

    def _pause_after(self, error: PeerError) -> float:
        return max(self._settle, (error.retry_after or 0.0) if isinstance(error, Busy) else 0.0)


def _origin(claim: Claim) -> RequestContext:
    """Return for whom a turn works: whoever created the action, with the marker that they gave it."""
    fields = {"action": str(claim.action)} | ({"step": str(claim.step)} if claim.step else {})
    return RequestContext(claim.context_marker, claim.user, fields)
