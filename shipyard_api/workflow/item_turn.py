"""Turns of work items (product, section 10): what ``turn`` is for an action, for one item of its current step.

The queue delivers *runs*: a run claims due items of one action, one after another, until none is due or its time is up.
Any number of runs of an action work side by side, on any worker and thread. While an item is claimed it belongs to its
run; when a worker dies, its run is delivered again and takes up what it held.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.items import ItemState
from shipyard_api.observing import request_context
from shipyard_api.observing.request_context import RequestContext
from shipyard_api.observing.telemetry import Kind
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from shipyard_api.ports.state.turns import ItemClaim
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.workflow.attempts import BROKEN_TURNS, Again, Attempt, Attempts, ends
from shipyard_api.workflow.observation import observed_turn
from shipyard_api.workflow.step import Act, AnyItemKind, AnyStep, Done, Failed, Gather, Look

LOG = logging.getLogger(__name__)

RUN_SECONDS = 2.0
"""A run gives its thread back after this time, so that turns of other actions are not kept waiting."""


class ItemTurns(Struct, frozen=True):
    """Runs the turns of items. ``steps`` returns the steps of an action by id, none if this release lacks it."""

    store: Store
    steps: Callable[[Transaction, ActionId], Mapping[StepId, AnyStep]]
    attempts: Attempts[ItemClaim]
    clock: Clock
    settle: float
    worker: str

    def run(self, action: ActionId, holder: str) -> None:
        """Run turns of due items. ``holder`` identifies the delivery: a repeated claim resumes what it held before.

        Raises StoreUnavailable: the run must be delivered again.
        """
        with request_context.restored():
            try:
                self._run(action, holder)
            except StoreUnavailable:
                LOG.exception("items lost their database", extra={"action": action})
                raise

    def _run(self, action: ActionId, holder: str) -> None:
        started = self.clock.monotonic()
        with self.store.begin() as tx:
            tx.items.start_run(action, self._versions(tx, action), holder=holder, now=self.clock.now())
        while self.turn(action, holder):
            if self.clock.monotonic() - started > RUN_SECONDS:
                with self.store.begin() as tx:
                    tx.items.continue_run(action)
                return
        with self.store.begin() as tx:
            now = self.clock.now()
            # Due items of another release are left to its workers; without a pause this loop would spin.
            tx.items.end_run(action, now=now, left_until=now + timedelta(seconds=self.settle / 2))

    def turn(self, action: ActionId, holder: str) -> bool:
        """Run one turn of the next due item; return whether the run goes on: there was one, and its peer takes more."""
        claim: ItemClaim | None = None
        try:
            with ExitStack() as stack:
                with self.store.begin() as tx:
                    claim = self._claim(tx, action, holder)
                    if claim is None:
                        return False
                    request_context.begin(_request_context(claim))
                    stack.enter_context(observed_turn(Kind.ITEM, {}, claim.log_fields, claim.traceparent))
                    attempt = self._decide(tx, claim, None)
                if isinstance(attempt, Attempt):
                    attempt = self.attempts.run(attempt, self._decide)
                if attempt is Again.PUT_OFF:
                    return False
                if attempt is Again.NOW:
                    with self.store.begin() as tx:
                        tx.items.sleep(claim, until=self.clock.now())
        except Fenced:
            LOG.warning("turn fenced", extra={"action": action, "worker": self.worker})
        except StoreUnavailable:
            raise
        except Exception as bug:
            LOG.exception("turn broke", extra={"action": action})
            if claim is None:
                raise
            self._broke(replace(claim, state=None), bug)
        return True

    def _claim(self, tx: Transaction, action: ActionId, holder: str) -> ItemClaim | None:
        versions = self._versions(tx, action)
        return tx.items.claim(action, versions, holder=holder, now=self.clock.now(), worker=self.worker)

    def _versions(self, tx: Transaction, action: ActionId) -> Mapping[StepId, int]:
        """Return the newest version of the states of items that this release reads, by step."""
        steps = self.steps(tx, action).values()
        return {step.id: step.item_kind.version for step in steps if step.item_kind is not None}

    def _kind(self, tx: Transaction, claim: ItemClaim) -> AnyItemKind:
        kind = self.steps(tx, claim.action)[claim.step].item_kind
        if kind is None:
            raise RuntimeError(f"{claim.step} has no items")
        return kind

    def _decide(self, tx: Transaction, claim: ItemClaim, state: Any) -> Attempt[ItemClaim] | Again:
        now = self.clock.now()
        kind = self._kind(tx, claim)
        if state is None and claim.state is not None:
            state = kind.load_state(claim.state)
        if ends(claim, kind) and (claim.intent is None or claim.intent.repeatable):
            why = claim.stopped or ""
            facts = () if state is None else kind.leave(state, why)
            tx.items.end(claim, ItemState.STOPPED, why, facts, now=now)
            return Again.LATER
        if claim.on_hold and state is None:
            tx.items.rest(claim)
            return Again.LATER
        if state is None:
            state = kind.begin(claim.task)
            claim = tx.items.start(claim, state.to_json(), now=now)
        state = kind.notice(state, claim.lost)
        if claim.lost.noticed is not None and claim.intent is not None and claim.intent.repeatable:
            claim = replace(claim, intent=None)  # whether it is still wanted is decided anew
        if claim.intent is not None:
            return self.attempts.resume(tx, claim, kind, state, claim.intent, now)
        match kind.decide(state, now):
            case Done(summary):
                tx.items.end(claim, ItemState.SUCCESS, summary, (), now=now)
                return Again.LATER
            case Failed(reason):
                tx.items.end(claim, ItemState.FAILED, reason, (), now=now)
                return Again.LATER
            case Act() | Look() as decision:
                return self.attempts.begin(tx, claim, kind, state, decision, now)
            case Gather():
                raise RuntimeError(f"an item of {claim.step} cannot have items")

    def _broke(self, claim: ItemClaim, bug: Exception) -> None:
        """Record that a turn broke; after some in a row the item fails."""
        with self.store.begin() as tx:
            now = self.clock.now()
            detail = f"{type(bug).__name__}; the worker's log has the rest"
            in_a_row = tx.items.broke(claim, now=now, until=now + timedelta(seconds=self.settle))
            if in_a_row >= BROKEN_TURNS:
                tx.items.end(claim, ItemState.FAILED, f"internal error: {detail}", (), now=now)


def _request_context(claim: ItemClaim) -> RequestContext:
    """Return user and marker of the action, for log lines and for requests to peers."""
    fields = {"action": str(claim.action), "step": str(claim.step), "item": str(claim.item)}
    return RequestContext(claim.context_marker, claim.user, fields)
