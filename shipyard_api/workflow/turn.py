"""One pass of the engine over one action; deliveries may be doubled, late, or missing.

A turn takes the next epoch, which fences every earlier turn, and asks the current step what to do. To change the world
it writes the intent with its marker, commits, performs, and writes the outcome together with the journal and the next
wake-up (see ``attempts``). A crash anywhere leaves either nothing or an intent without outcome; the next turn asks the
peer for the marker before it submits again.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.waiting import ITEMS, WaitingFor, of_items
from shipyard_api.observing import request_context
from shipyard_api.observing.request_context import RequestContext
from shipyard_api.observing.telemetry import Kind
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from shipyard_api.ports.state.turns import Claim, ItemClaim
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.workflow.attempts import ATTEMPTS, BROKEN_TURNS, PAUSED, Again, Attempt, Attempts, ends, log_facts
from shipyard_api.workflow.bulkhead import Bulkhead
from shipyard_api.workflow.definition import Definition, Steps, skipped_by_failure, unknown_part
from shipyard_api.workflow.item_turn import ItemTurns
from shipyard_api.workflow.observation import observed_turn
from shipyard_api.workflow.step import Act, AnyStep, Done, Failed, Gather, Look

LOG = logging.getLogger(__name__)

_KEPT_ACTIONS = 64  # actions whose steps are kept in memory


class UnknownToThisReleaseError(Exception):
    """An action, a step or the version of a stored state that only another release knows."""


class Engine:
    """Runs the turns of all actions. Keeps only caches: any number may run on any number of hosts."""

    def __init__(
        self,
        store: Store,
        definitions: Mapping[ActionName, Definition],
        clock: Clock,
        *,
        settle: float,
        worker: str,
        attempts: int = ATTEMPTS,
        bulkhead: Bulkhead | None = None,
    ) -> None:
        """``settle``: seconds, see module ``attempts``. ``attempts``: how many one turn makes at most."""
        self.bulkhead = bulkhead or Bulkhead(clock.monotonic)
        self._store = store
        self._definitions = dict(definitions)
        self._clock = clock
        self._settle = settle
        self._worker = worker
        self._attempts: Attempts[Claim] = Attempts(
            store, lambda tx: tx.turns, clock, settle=settle, bulkhead=self.bulkhead, limit=attempts
        )
        self._known_steps: dict[ActionId, Steps] = {}
        self._skipped_actions: set[tuple[ActionId, str]] = set()
        item_attempts: Attempts[ItemClaim] = Attempts(
            store, lambda tx: tx.items, clock, settle=settle, bulkhead=self.bulkhead, limit=attempts
        )
        self.items = ItemTurns(store, self._steps_with_items, item_attempts, clock, settle, worker)

    def run(self, action: ActionId) -> None:
        """Run turns of the action until it must wait, has ended, or another worker has taken over.

        Raises StoreUnavailable: nothing could be written, and the turn must be delivered again.
        """
        with request_context.restored():
            self._run(action)

    def _run(self, action: ActionId) -> None:
        try:
            while self.turn(action) is Again.NOW:
                pass
        except Fenced:
            LOG.warning("turn fenced", extra={"action": action, "worker": self._worker})
        except StoreUnavailable:
            LOG.exception("turn lost its database", extra={"action": action})
            raise
        except Exception as bug:
            LOG.exception("turn broke", extra={"action": action})
            self._broke(action, bug)

    def sweep(self, *, grace: float) -> int:
        """Queue a turn for every action and item that should be moving and is not; return how many there were."""
        with self._store.begin() as tx:
            overdue = tx.turns.overdue(grace=grace)
            for action in overdue:
                tx.turns.remind(action)
            return len(overdue) + tx.items.remind_overdue(grace=grace)

    def turn(self, action: ActionId) -> Again:
        """Run one turn; raises Fenced when a later one has begun."""
        with ExitStack() as stack:
            try:
                with self._store.begin() as tx:
                    claim = self._claim(tx, action)
                    if claim is None:
                        return Again.LATER
                    request_context.begin(_request_context(claim))
                    turn = observed_turn(Kind.TURN, {"action": claim.name}, claim.log_fields, claim.traceparent)
                    stack.enter_context(turn)
                    attempt = self._decide(tx, claim, None)
            except UnknownToThisReleaseError as unknown:
                self._leave_alone(action, unknown)
                return Again.LATER
            if isinstance(attempt, Again):
                return attempt
            return self._attempts.run(attempt, self._decide)

    def _claim(self, tx: Transaction, action: ActionId) -> Claim | None:
        """Take the next epoch; raises UnknownToThisReleaseError, which rolls back, so no turn is fenced."""
        claim = tx.turns.claim(action, now=self._clock.now(), worker=self._worker)
        if claim is None:
            return None
        steps = self._steps(tx, action, claim.name) if claim.name in self._definitions else None
        open_steps = (() if claim.step is None else (claim.step,)) + tuple(claim.remaining)
        if unknown := unknown_part(claim.name, steps, open_steps, claim.version):
            raise UnknownToThisReleaseError(unknown)
        return claim

    def _leave_alone(self, action: ActionId, unknown: UnknownToThisReleaseError) -> None:
        """Let a worker of another release have the turn; logged once."""
        if (action, str(unknown)) not in self._skipped_actions:
            self._skipped_actions.add((action, str(unknown)))
            LOG.warning("left to a worker of another release", extra={"action": action, "unknown": str(unknown)})
        with self._store.begin() as tx:
            tx.turns.pass_on(action, at=self._clock.now() + timedelta(seconds=self._settle / 2))

    def _steps(self, tx: Transaction, action: ActionId, name: ActionName) -> Steps:
        """Return the steps of an action. Its inputs never change, so they are read once in a process."""
        steps = self._known_steps.get(action)
        if steps is None:
            definition = self._definitions[name]
            steps = definition.steps(definition.read(tx.actions.inputs(action)))
            if len(self._known_steps) >= _KEPT_ACTIONS:
                self._known_steps.clear()
            self._known_steps[action] = steps
        return steps

    def _steps_with_items(self, tx: Transaction, action: ActionId) -> Steps:
        """Return the steps of an action that may have items; none if this release does not know the action."""
        if action in self._known_steps:
            return self._known_steps[action]
        name = tx.turns.name(action)
        return self._steps(tx, action, name) if name in self._definitions else {}

    def _broke(self, action: ActionId, bug: Exception) -> None:
        """Record that a turn broke; after some in a row the step fails, so that the action does not wait for ever."""
        with self._store.begin() as tx:
            claim = self._claim(tx, action)
            if claim is None or claim.step is None:
                return
            now = self._clock.now()
            detail = f"{type(bug).__name__}; the worker's log has the rest"
            in_a_row = tx.turns.broke(claim, detail, now=now)
            if in_a_row < BROKEN_TURNS:
                tx.turns.sleep(claim, until=now + timedelta(seconds=self._settle * in_a_row))
                return
            steps = self._steps(tx, action, claim.name)
            why = f"internal error: {detail}"
            self._end_step(tx, claim, steps, StepState.FAILED, why, now, steps[claim.step].give_up(why))
            tx.turns.sleep(claim, until=now)

    def _decide(self, tx: Transaction, claim: Claim, state: Any) -> Attempt[Claim] | Again:
        """Return what to try next. ``state`` is that of the step, None if the turn has not decoded it yet."""
        now = self._clock.now()
        if claim.step is None:
            # A stop may be accepted when nothing is left to stop; the action fails all the same, as was promised.
            ended = RunState.FAILED if claim.failed or claim.stopped_by is not None else RunState.SUCCESS
            tx.turns.end_action(claim, ended, now=now)
            LOG.info("action ended", extra={"action": claim.action, "state": ended.value})
            return Again.LATER
        steps = self._steps(tx, claim.action, claim.name)
        step = steps[claim.step]
        if state is None and claim.state is not None:
            state = step.load_state(claim.state)
        # An intent without outcome comes first: what was sent for it is under way.
        under_way = claim.intent is not None and not claim.intent.repeatable
        if not under_way and ends(claim, step):
            return self._stop(tx, claim, steps, step, state, now)
        if claim.on_hold and state is None:
            tx.turns.rest(claim, waiting=PAUSED.after(claim.waiting, now))
            return Again.LATER
        if state is None:
            state = step.begin(self._definitions[claim.name].read(tx.actions.inputs(claim.action)))
            claim = tx.turns.start_step(claim, state.to_json(), now=now)
        if claim.intent is not None:
            return self._attempts.resume(tx, claim, step, state, claim.intent, now)
        match step.decide(state, now):
            case Done(summary, skips):
                if self._items_end_first(tx, claim, step, "their step has succeeded", now):
                    return Again.LATER
                LOG.info("step succeeded", extra={"action": claim.action, "step": claim.step, "summary": summary})
                tx.turns.skip(claim, skips, now=now)
                tx.turns.end_step(claim, StepState.SUCCESS, summary, now=now)
                return Again.NOW
            case Failed(reason):
                if self._items_end_first(tx, claim, step, "their step has failed", now):
                    return Again.LATER
                LOG.warning("step failed", extra={"action": claim.action, "step": claim.step, "reason": reason})
                self._end_step(tx, claim, steps, StepState.FAILED, reason, now)
                return Again.NOW
            case Gather() as decision:
                return self._gather(tx, claim, step, state, decision, now)
            case Act() | Look() as decision:
                return self._attempts.begin(tx, claim, step, state, decision, now)

    def _gather(
        self, tx: Transaction, claim: Claim, step: AnyStep, state: Any, decision: Gather, now: datetime
    ) -> Attempt[Claim] | Again:
        """Fold the items that have ended since the last time; wait, or read meanwhile, if there are none."""
        ended, open_items = tx.items.gather(claim)
        if not claim.on_hold:
            tx.items.wake_resting(claim, now=now)
        if not ended and not (decision.begins and not claim.on_hold):
            if (look := step.watch(state, now)) is not None:
                return self._attempts.begin(tx, claim, step, state, look, now)
            if open_items or decision.begins:
                waiting = _waiting_for_items(tx, claim, step, now) if open_items else PAUSED.after(claim.waiting, now)
                tx.turns.rest(claim, waiting=waiting)
                return Again.LATER
        folded = step.gather(state, ended, now)
        stored = folded.state.to_json()
        if not ended and not folded.items and stored == claim.state:
            raise RuntimeError(f"{step.id} waits for work items and has none")
        tx.turns.record(claim, stored, folded.facts, now=now, wake_at=folded.wait_until, items=folded.items)
        log_facts(folded.facts, claim.log_fields)
        return Again.NOW if folded.wait_until is None else Again.LATER

    def _items_end_first(self, tx: Transaction, claim: Claim, step: AnyStep, why: str, now: datetime) -> bool:
        """Stop the items that are still open; return whether there are any. The last one to end wakes the action."""
        if step.item_kind is None or not tx.items.stop_open(claim, why, now=now):
            return False
        tx.turns.rest(claim, waiting=_waiting_for_items(tx, claim, step, now))
        return True

    def _stop(self, tx: Transaction, claim: Claim, steps: Steps, step: AnyStep, state: Any, now: datetime) -> Again:
        """End the step where it is, and skip all that follows but for steps that always run."""
        why = claim.stopped or ""
        if self._items_end_first(tx, claim, step, why, now):
            return Again.LATER
        if state is not None and step.item_kind is not None:
            ended, _ = tx.items.gather(claim)
            if ended:
                # What has ended counts; what would follow it does not start.
                folded = step.gather(state, ended, now)
                tx.turns.record(claim, folded.state.to_json(), folded.facts, now=now, wake_at=None)
                return Again.NOW
        LOG.warning("step stopped", extra={"action": claim.action, "step": claim.step, "user": claim.stopped_by})
        if state is not None and claim.state is not None:
            tx.turns.record(claim, claim.state, step.leave(state, why), now=now, wake_at=None)
        self._end_step(tx, claim, steps, StepState.FAILED, why, now)
        return Again.NOW

    def _end_step(
        self,
        tx: Transaction,
        claim: Claim,
        steps: Steps,
        state: StepState,
        detail: str,
        now: datetime,
        given_up: Sequence[Fact] = (),
    ) -> None:
        skipped = skipped_by_failure(steps, claim.remaining)
        why = f"{claim.step} failed: {detail}"
        given_up = [*given_up, *(fact for step in skipped for fact in steps[step].give_up(why))]
        tx.turns.end_step(claim, state, detail, skipped, given_up, now=now)


def _waiting_for_items(tx: Transaction, claim: Claim, step: AnyStep, now: datetime) -> WaitingFor:
    """Return what the open items wait for, or that they all go on; they are asked only if one of them may say more."""
    before = claim.waiting
    known = tx.items.waiting_for(claim) if before is not None and before.who != ITEMS else None
    return known or of_items(step.id).after(before, now)


def _request_context(claim: Claim) -> RequestContext:
    """Return user and marker of the action, for log lines and for requests to peers."""
    fields = {"action": str(claim.action)} | ({"step": str(claim.step)} if claim.step else {})
    return RequestContext(claim.context_marker, claim.user, fields)
