"""The rows of one action, and their contract in memory: what ``storage.turns`` promises to the engine.

``test_model_rows`` holds this and Postgres to the same answers. A database is a value, so a snapshot of it is itself.
"""

import dataclasses
import json
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from shipyard_api.domain.actions import ENDED, ActionId, ActionName, ActionState, Control, RunState, StepId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold, HoldId, HoldKind, NodeWork
from shipyard_api.domain.items import ENDED_ITEM, ItemState, NewItem
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import JobId
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.storage.rows import intent_from, intent_json
from tests.model.symmetry import Folds, folds

ACTION = ActionId("01ARZ3NDEKTSV4RRFFQ69G5FA0")
NAME = ActionName("deploy_site")
STEP = StepId("nodes")
BEGAN = datetime(2026, 11, 28, tzinfo=UTC)
EARLY = timedelta(seconds=2)  # as in ``storage.turns``: the queue and the worker read different clocks
Turn = tuple[str, int]
"""A unit of work, the number of an action or an item, and an epoch of it or a worker."""
SKIPPED = 1_000_000  # epochs, as in ``storage.histories``


def action_id(number: int) -> ActionId:
    """Return the id of an action of the site."""
    return ActionId(f"{ACTION[:-1]}{number}")


@dataclass(frozen=True)
class Item:
    """A work item. ``held``: a run has it; ``gathered``: its step knows that it has ended."""

    id: str
    task: str
    state: ItemState = ItemState.QUEUED
    epoch: int = 0
    wake_at: datetime | None = None
    memory: str | None = None
    intent: str | None = None
    stop: str | None = None
    held: bool = False
    detail: str = ""
    ended_at: datetime | None = None
    gathered: bool = False

    @property
    def ended(self) -> bool:
        """Whether the item has ended."""
        return self.state in ENDED_ITEM

    @cached_property
    def key(self) -> Hashable:
        """What distinguishes the item from all that it is not equal to, whatever its epoch."""
        of_intent = intent_key(self.intent)
        ended_at = None if self.gathered else self.ended_at
        moments = (self.wake_at, ended_at)
        return (self.id, self.state.value, moments, self.memory, of_intent, self.stop, self.held, self.gathered)

    @cached_property
    def _hash(self) -> int:
        return hash((self.key, self.epoch))

    def __hash__(self) -> int:
        return self._hash


class Past(NamedTuple):
    """An action that has ended."""

    number: int
    state: RunState
    created_at: datetime
    inputs: str
    nodes: tuple[tuple[NodeName, NodeStatus], ...]


@dataclass(frozen=True)
class Database:
    """The action, its only step, its intent, the holds, and what the journal says of jobs.

    ``items``: of the step, in order of creation. ``timeline``: that of the newest stored history. ``lost_after`` and
    ``noticed``: as the action's row has them. ``number``: of the action on the site; ``inputs`` and ``nodes``: its own;
    ``past``: the actions before it.
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
    items: tuple[Item, ...] = ()
    number: int = 0
    inputs: str = "{}"
    nodes: tuple[tuple[NodeName, NodeStatus], ...] = ()
    past: tuple["Past", ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the action has ended."""
        return self.state in ENDED

    def epoch_of(self, unit: str) -> int:
        """Return the epoch of the newest turn of the action, or of an item; 0 for an action before this one."""
        if unit == str(self.number):
            return self.epoch
        return next((item.epoch for item in self.items if item.id == unit), 0)

    @cached_property
    def key(self) -> Hashable:
        """What distinguishes the rows from others, whatever the epochs and the time of the last line."""
        of_action = (self.state.value, self.wake_at, self.stopped_by, self.step and self.step.value, self.memory)
        of_site = (self.holds, self.jobs, self.timeline, self.lost_after, self.noticed)
        of_run = (self.number, self.nodes, self.past)
        return (of_action, intent_key(self.intent), of_site, of_run, frozenset(item.key for item in self.items))

    @cached_property
    def folds(self) -> Folds:
        """What distinguishes the rows, and their mirror image."""
        return folds((self.key, self.last_line))

    @cached_property
    def _hash(self) -> int:
        return hash((self.key, self.epoch, self.last_line, tuple(item.epoch for item in self.items)))

    def __hash__(self) -> int:
        return self._hash


def stored(value: JsonObject | None) -> str | None:
    """Return JSON in one form."""
    return None if value is None else json.dumps(value, sort_keys=True)


@lru_cache(maxsize=100_000)
def intent_key(intent: str | None) -> str | None:
    """Return what distinguishes an intent: of its attempts, whether there was more than one."""
    if intent is None:
        return None
    value = json.loads(intent)
    return stored({**value, "attempts": min(value["attempts"], 2)})


@lru_cache(maxsize=200_000)
def controlled(database: Database, control: Control, user: str, now: datetime) -> Database:
    """Return the database after an operator's verb; a refused one changes nothing."""
    if ActionState(database.state, stopped=database.stopped_by is not None).refusal(control) is not None:
        return database
    match control:
        case Control.PAUSE:
            return dataclasses.replace(database, state=RunState.PAUSED)
        case Control.UNPAUSE:
            return dataclasses.replace(database, state=RunState.RUNNING, wake_at=now)
        case Control.STOP:
            return dataclasses.replace(database, state=RunState.RUNNING, stopped_by=user, wake_at=now)
    raise ValueError(f"{control.value} is for actions that have ended")


Nodes = tuple[tuple[NodeName, NodeStatus], ...]


def changed(nodes: Nodes, facts: Sequence[Fact]) -> Nodes:
    """Return the statuses of the nodes of an action after these facts."""
    statuses = dict(nodes)
    for fact in facts:
        if isinstance(fact, NodesChanged):
            statuses |= dict.fromkeys(fact.nodes, fact.status)
        elif isinstance(fact, NodesKept):
            statuses |= dict.fromkeys(fact.nodes, NodeStatus.SUCCESS)
    return tuple(statuses.items())


def hold_of(node: NodeName, at: datetime) -> Hold:
    """Return an operator's hold."""
    return Hold(HoldId(f"hold-{node}"), node, HoldKind.OPERATOR, "model", "operator", at, None, None, None)


class Rows:
    """The engine's rows in one transaction; the database as it is when it commits is ``now_is``.

    ``waits``: called where Postgres would wait for a lock, before anything behind it is read. ``claimed``: the unit
    whose turn has begun; ``written``: those to which a turn has written. ``taken``: the epochs that turns still name; a
    new turn gets the smallest other one, so that states do not differ by epochs alone. None: the next one. ``action``:
    the only one; None: as the site numbers it. ``choose``: which item is claimed of those that are due, the first in
    Postgres unless another transaction has locked it.
    """

    def __init__(
        self,
        database: Database,
        now: datetime,
        waits: Any,
        taken: Collection[Turn] | None = None,
        action: ActionId | None = None,
    ) -> None:
        self.now_is = database
        self.did: list[str] = []
        self.claimed: str | None = None
        self.written: set[str] = set()
        self.permitted: tuple[NodeName, ...] = ()
        self.now = now
        self.waits = waits
        self._action = action or action_id(database.number)
        self.choose: Callable[[int], int] = lambda _among: 0
        self._taken = taken

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
        if action != self._action:
            return None
        due = before.wake_at is None or before.wake_at <= now + EARLY
        if before.ended or not (before.state is RunState.QUEUED or due or before.stopped_by):
            return None
        state = RunState.RUNNING if before.state is RunState.QUEUED else before.state
        epoch = self.next_epoch(self._unit, before.epoch)
        self._write(epoch=epoch, wake_at=now, state=state)
        is_open = before.step in (None, StepState.RUNNING)
        self.claimed = self._unit
        self.did.append("a turn begins")
        return Claim(
            action=action,
            name=NAME,
            epoch=epoch,
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
            lost=self.lost(now),
        )

    def next_epoch(self, unit: str, epoch: int) -> int:
        """Return the epoch of a new turn."""
        if self._taken is None:
            return epoch + 1
        return next(free for free in count(1) if (unit, free) not in self._taken)

    def lost(self, now: datetime) -> LostHistory:
        """Return what the database may lack, and write when that was noticed."""
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
        return self.holds_on(nodes)

    def holds_on(self, nodes: Collection[NodeName]) -> Sequence[Hold]:
        """Return the holds on these nodes, behind the lock that a hold takes."""
        self.waits()
        known = self.now_is.holds
        return [hold_of(node, self.now) for node in sorted(known.intersection(nodes))]

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
        items: Sequence[NewItem] = (),
        waiting: WaitingFor | None = None,
    ) -> Claim:
        self._fenced(claim, wake_at=wake_at or now)
        self.did.append("an outcome")
        self._write(memory=stored(state), intent=None)
        self.write_facts(facts, now)
        known = {item.id for item in self.now_is.items}
        new = (Item(item.id, stored(item.task) or "", wake_at=now) for item in items if item.id not in known)
        self._write(items=(*self.now_is.items, *new))
        paused, stopped_by = self.now_is.state is RunState.PAUSED, self.now_is.stopped_by
        return replace(claim, state=state, intent=None, paused=paused, stopped_by=stopped_by)

    def write_facts(self, facts: Sequence[Fact], now: datetime) -> None:
        """Write facts; of jobs, which the action has begun."""
        known = self.now_is.jobs
        jobs = [JobId(fact.job) for fact in facts if isinstance(fact, PhaseStarted | JobStarted)]
        new = tuple(job for job in dict.fromkeys(jobs) if job not in known)
        nodes = changed(self.now_is.nodes, facts)
        self._write(jobs=(*known, *new), nodes=nodes, last_line=now if facts else self.now_is.last_line)

    def tell(self, claim: Claim, facts: Sequence[Fact], *, now: datetime) -> None:
        self.write_facts(facts, now)

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
        if claim.epoch != self.now_is.epoch or claim.action != self._action:
            raise Fenced(f"turn {claim.epoch} is over")
        self.written.add(self._unit)
        if values:
            self._write(**values)

    def put_items(self, items: tuple[Item, ...]) -> None:
        """Write the items."""
        self._write(items=items)

    @property
    def _unit(self) -> str:
        return str(self.now_is.number)

    def _write(self, **values: Any) -> None:
        self.now_is = dataclasses.replace(self.now_is, **values)


def _of(intent: Intent | None) -> str | None:
    return None if intent is None else intent_key(stored(intent_json(intent)))
