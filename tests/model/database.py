"""The rows of one action, and their contract in memory: what ``storage.turns`` promises to the engine.

``test_contract`` holds this and Postgres to the same answers. A database is a value, so a snapshot of it is itself.
"""

import json
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shipyard_api.domain.actions import ENDED, ActionId, ActionName, ActionState, Control, RunState, StepId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold, HoldId, HoldKind, NodeWork
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import JobId
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.storage.intents import intent_from, intent_json

ACTION = ActionId("01ARZ3NDEKTSV4RRFFQ69G5FAV")
NAME = ActionName("deploy_site")
STEP = StepId("nodes")
BEGAN = datetime(2026, 11, 28, tzinfo=UTC)
EARLY = timedelta(seconds=2)  # as in ``storage.turns``: the queue and the worker read different clocks
SKIPPED = 1_000_000  # epochs, as in ``storage.histories``


@dataclass(frozen=True, slots=True)
class Database:
    """The action, its only step, its intent, the holds, and what the journal says of jobs.

    ``timeline``: that of the newest stored history. ``lost_after`` and ``noticed``: as the action's row has them.
    """

    state: RunState = RunState.QUEUED
    epoch: int = 0
    wake_at: datetime | None = None
    stopped_by: str | None = None
    step: StepState | None = None
    memory: str | None = None
    intent: str | None = None
    holds: frozenset[NodeName] = frozenset()
    jobs: tuple[JobId, ...] = ()
    last_line: datetime | None = None
    created_at: datetime = BEGAN
    timeline: int = 1
    lost_after: datetime | None = None
    noticed: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether the action has ended."""
        return self.state in ENDED


def stored(value: JsonObject | None) -> str | None:
    """Return JSON in one form."""
    return None if value is None else json.dumps(value, sort_keys=True)


def controlled(database: Database, control: Control, user: str, now: datetime) -> Database:
    """Return the database after an operator's verb; a refused one changes nothing."""
    if ActionState(database.state, stopped=database.stopped_by is not None).refusal(control) is not None:
        return database
    match control:
        case Control.PAUSE:
            return replace(database, state=RunState.PAUSED)
        case Control.UNPAUSE:
            return replace(database, state=RunState.RUNNING, wake_at=now)
        case Control.STOP:
            return replace(database, state=RunState.RUNNING, stopped_by=user, wake_at=now)


def hold_of(node: NodeName, at: datetime) -> Hold:
    """Return an operator's hold."""
    return Hold(HoldId(f"hold-{node}"), node, HoldKind.OPERATOR, "model", "operator", at, None, None, None)


class Rows:
    """The engine's rows in one transaction; the database as it is when it commits is ``now_is``.

    ``waits``: called where Postgres would wait for a lock, before anything behind it is read.
    """

    def __init__(self, database: Database, now: datetime, waits: Any) -> None:
        self.now_is = database
        self.did: list[str] = []
        self.claimed = 0
        self.permitted: tuple[NodeName, ...] = ()
        self._now = now
        self._waits = waits

    @staticmethod
    def key_of(method: str, value: Any) -> Hashable:
        """Return what distinguishes the answers of a method. The epoch of a claim counts on its own."""
        match method:
            case "claim" if value is not None:
                flags = (value.paused, value.stopped_by, value.failed, value.step, value.lost)
                return (stored(value.state), _of(value.intent), flags)
            case "record" | "renew":
                return (value.paused, value.stopped_by)
            case "held":
                return tuple(hold.node for hold in value)
            case "jobs_since":
                return tuple(sorted(value))
        return None

    def claim(self, action: ActionId, *, now: datetime, worker: str) -> Claim | None:
        before = self.now_is
        due = before.wake_at is None or before.wake_at <= now + EARLY
        if before.ended or not (before.state is RunState.QUEUED or due or before.stopped_by):
            return None
        state = RunState.RUNNING if before.state is RunState.QUEUED else before.state
        self._write(epoch=before.epoch + 1, wake_at=now, state=state)
        is_open = before.step in (None, StepState.RUNNING)
        self.claimed = before.epoch + 1
        self.did.append("a turn begins")
        return Claim(
            action=action,
            name=NAME,
            epoch=before.epoch + 1,
            worker=worker,
            step=STEP if is_open else None,
            state=json.loads(before.memory) if is_open and before.memory else None,
            intent=intent_from(json.loads(before.intent)) if is_open and before.intent else None,
            remaining=(),
            failed=before.step is StepState.FAILED,
            paused=state is RunState.PAUSED,
            stopped_by=before.stopped_by,
            user="user",
            context_marker="context",
            traceparent="",
            waiting=None,
            lost=self._lost(now),
        )

    def _lost(self, now: datetime) -> LostHistory:
        if self.now_is.lost_after is None:
            return LostHistory(self.now_is.created_at, None)
        if self.now_is.noticed is None:
            self._write(noticed=now)
        return LostHistory(self.now_is.lost_after, self.now_is.noticed or now)

    def start_step(self, claim: Claim, state: JsonObject, *, now: datetime) -> Claim:
        self._fenced(claim, wake_at=now)
        self._write(step=StepState.RUNNING, memory=stored(state), last_line=now)
        return replace(claim, state=state)

    def intend(self, claim: Claim, intent: Intent, *, now: datetime | None = None) -> Claim:
        at = now or intent.attempted_at
        self._fenced(claim, wake_at=at)
        self.did.append("an intent to send" if now is None else "a search")
        if now is None:
            self.permitted = intent.touches
        self._write(intent=stored(intent_json(intent)), last_line=at)
        return replace(claim, intent=intent)

    def renew(self, claim: Claim) -> Claim:
        self._fenced(claim)
        return replace(claim, paused=self.now_is.state is RunState.PAUSED, stopped_by=self.now_is.stopped_by)

    def held(self, claim: Claim, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
        self._fenced(claim)
        self._waits()
        known = self.now_is.holds
        return [hold_of(node, self._now) for node in sorted(known.intersection(nodes))]

    def with_hold(self, node: NodeName) -> Database:
        """Return the database after an operator has placed a hold."""
        self._write(holds=self.now_is.holds | {node})
        return self.now_is

    def wait(self, claim: Claim, waiting: WaitingFor) -> Claim:
        self._fenced(claim)
        return replace(claim, waiting=waiting)

    def record(
        self,
        claim: Claim,
        state: JsonObject,
        facts: Sequence[Fact],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: Sequence[object] = (),
        waiting: WaitingFor | None = None,
    ) -> Claim:
        self._fenced(claim, wake_at=wake_at or now)
        self.did.append("an outcome")
        jobs = [fact.job for fact in facts if isinstance(fact, PhaseStarted)]
        known = self.now_is.jobs
        self._write(
            memory=stored(state),
            intent=None,
            jobs=(*known, *(job for job in jobs if job not in known)),
            last_line=now if facts else self.now_is.last_line,
        )
        paused, stopped_by = self.now_is.state is RunState.PAUSED, self.now_is.stopped_by
        return replace(claim, state=state, intent=None, paused=paused, stopped_by=stopped_by)

    def tell(self, claim: Claim, facts: Sequence[Fact], *, now: datetime) -> None:
        self._write(last_line=now)

    def sleep(self, claim: Claim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        self._fenced(claim, wake_at=until)
        self.did.append("a pause")

    def rest(self, claim: Claim, *, waiting: WaitingFor | None = None) -> None:
        self._fenced(claim, wake_at=None)
        self.did.append("a rest")

    def skip(self, claim: Claim, steps: Sequence[StepId], *, now: datetime) -> None:
        """Skip nothing: there is one step."""

    def end_step(
        self,
        claim: Claim,
        state: StepState,
        detail: str,
        skipped: Sequence[StepId] = (),
        given_up: Sequence[Fact] = (),
        *,
        now: datetime,
    ) -> None:
        self._fenced(claim, wake_at=now)
        self._write(step=state, last_line=now)
        self.did.append(f"the step ends with {state.value}")

    def end_action(self, claim: Claim, state: RunState, *, now: datetime) -> None:
        self._fenced(claim, state=state, wake_at=None)
        self.did.append(f"the action ends with {state.value}")

    def jobs_since(self, since: datetime) -> frozenset[JobId]:
        """Return the jobs of the journal."""
        return frozenset(self.now_is.jobs)

    def _fenced(self, claim: Claim, **values: Any) -> None:
        if claim.epoch != self.now_is.epoch:
            raise Fenced(f"turn {claim.epoch} is over")
        if values:
            self._write(**values)

    def _write(self, **values: Any) -> None:
        self.now_is = replace(self.now_is, **values)


def _of(intent: Intent | None) -> str | None:
    return None if intent is None else stored(intent_json(replace(intent, attempts=min(intent.attempts, 2))))
