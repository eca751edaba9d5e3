"""Our own state: what each use case and each turn needs of it. One transaction at a time, all or nothing."""

from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from shipyard_api.domain.actions import ActionId, ActionName, Control, RunState, StepId, StepState
from shipyard_api.domain.configdocs import Revision
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.provisioner import JobId, JobReport, Marker, Work

Json = Mapping[str, Any]


class StoreUnavailable(Exception):
    """The database cannot be reached or hung up; nothing of the transaction was kept, or we cannot know."""


class Fenced(Exception):
    """A later turn of the action has begun: this one must stop at once and write nothing."""


class SiteBusy(Exception):
    """Another site action runs; ``running`` is its id."""

    def __init__(self, running: ActionId, name: ActionName) -> None:
        super().__init__(f"{name.value} {running} is running")
        self.running = running
        self.name = name


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action as it is created; ``steps`` in order."""

    id: ActionId
    name: ActionName
    parameters: Json
    user: str
    context_marker: str
    revision: Revision
    allow_intermediate_commits: bool | None
    inputs: Json
    steps: Sequence[StepId]


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """An action as it stands."""

    id: ActionId
    name: ActionName
    parameters: Json
    user: str
    context_marker: str
    revision: Revision
    allow_intermediate_commits: bool | None
    state: RunState
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    epoch: int


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step as it stands; ``detail`` is its one sentence, set when it has ended."""

    action: ActionId
    id: StepId
    index: int
    state: StepState | None
    started_at: datetime | None
    ended_at: datetime | None
    detail: str


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One line of an action's command audit."""

    id: str
    action: ActionId
    command: str
    user: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """A phase of a group that was started, as it stands; of one that was sent in parts there is one for each batch.

    ``running_at``: when the provisioner was first seen to be at it, and no longer had it waiting in its queue.
    """

    phase: str
    batch: int
    status: str
    job: str
    nodes: Sequence[str]
    message: str
    submitted_at: datetime
    running_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A deployment group of an action, as it stands; ``nodes`` counts its members by status."""

    index: int
    name: str
    critical: bool
    depends_on: Sequence[str]
    status: str
    reason: str | None
    detail: str
    nodes: Mapping[NodeStatus, int]
    phases: Sequence[PhaseRecord]


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of an action, as it stands; ``group`` sent it last, ``groups`` hold it."""

    name: str
    status: NodeStatus
    reason: str | None
    detail: str
    group: str | None
    groups: Sequence[str]
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LastNodeRecord:
    """A node as the latest action that held it left it, or has it now."""

    action: ActionId
    node: NodeRecord


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A status that a node got in an action; ``late``: it came after we had stopped waiting, and counted no more.

    ``phase`` and ``group`` are of the move that sent the node; None where none did.
    """

    at: datetime
    status: NodeStatus
    phase: str | None
    group: str | None
    reason: str | None
    detail: str
    late: bool


@dataclass(frozen=True, slots=True)
class NodePast:
    """What one action did with a node: how it stands there, each status on the way, and the phases that sent it.

    Changes are in order of time; phases, each with its group, in the order in which they began.
    """

    action: ActionId
    name: ActionName
    state: RunState
    created_at: datetime
    node: NodeRecord
    changes: Sequence[NodeChange]
    phases: Sequence[tuple[str, PhaseRecord]]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One thing that happened to an action, in the order in which it was written."""

    id: int
    epoch: int
    step: StepId | None
    kind: str
    at: datetime
    worker: str
    facts: Json


@dataclass(frozen=True, slots=True)
class Intent:
    """An effect that was intended and whose outcome is not recorded.

    ``intended_at``: when it was written first. ``attempted_at``: when it was last tried. ``attempts``: how often.
    """

    marker: Marker
    effect: Json
    give_up_at: datetime
    intended_at: datetime
    attempted_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that has begun: the action, the number that fences it, and the step it stands at (None: all ended)."""

    action: ActionId
    name: ActionName
    epoch: int
    worker: str
    inputs: Json
    step: StepId | None
    state: Json | None
    intent: Intent | None
    remaining: Sequence[StepId]
    failed: bool
    paused: bool = False
    stopped_by: str | None = None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """An API token; its secret is not among what we know."""

    id: str
    name: str
    role: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class Turns(Protocol):
    """The engine's own rows. Every write names the epoch of its turn and raises Fenced when that is over."""

    def claim(self, action: ActionId, *, now: datetime, worker: str) -> Claim | None:
        """Begin a turn: take the next epoch. None if the action has ended, does not exist, or is not due yet."""

    def start_step(self, claim: Claim, state: Json, *, now: datetime) -> None:
        """Record that the claim's step has begun, with its first state."""

    def intend(self, claim: Claim, intent: Intent) -> None:
        """Write an intent, or a further attempt at it."""

    def record(
        self, claim: Claim, state: Json, facts: Sequence[object], *, now: datetime, wake_at: datetime | None
    ) -> None:
        """Write the outcome of what the turn did: state, facts and the next wake-up; the intent is fulfilled."""

    def sleep(self, claim: Claim, *, until: datetime) -> None:
        """Write when the action wants to be looked at again, and nothing else."""

    def rest(self, claim: Claim) -> None:
        """Let nobody look at the action until it is told to go on."""

    def broke(self, claim: Claim, detail: str, *, now: datetime) -> int:
        """Write down that a turn of the claim's step ended in a bug; return how often in a row that has happened."""

    def end_step(
        self, claim: Claim, state: StepState, detail: str, skipped: Sequence[StepId], *, now: datetime
    ) -> None:
        """End the claim's step; ``skipped`` are later steps that will not run because of it."""

    def skip(self, claim: Claim, steps: Sequence[StepId], *, now: datetime) -> None:
        """Let later steps not run, although nothing before them failed."""

    def end_action(self, claim: Claim, state: RunState, *, now: datetime) -> None:
        """End the action; the site is free for the next one."""

    def overdue(self, *, grace: float) -> Sequence[ActionId]:
        """Return actions that wanted to be looked at more than ``grace`` seconds ago (the database's clock)."""

    def remind(self, action: ActionId) -> None:
        """Queue a turn of the action unless one is queued or runs."""


class Actions(Protocol):
    """Actions, their steps, and what is shown of them."""

    def create(self, action: NewAction) -> ActionRecord:
        """Insert the action with its steps, its audit line and its first wake-up; raises SiteBusy."""

    def running_site_action(self) -> tuple[ActionId, ActionName] | None:
        """Return the site action that has not ended, if there is one."""

    def get(self, action: ActionId) -> ActionRecord | None:
        """Return the action."""

    def all(self) -> Sequence[ActionRecord]:
        """Return every action, in order of creation."""

    def steps(self, actions: Some[ActionId]) -> Mapping[ActionId, Sequence[StepRecord]]:
        """Return the steps of these actions, in order."""

    def commands(self, action: ActionId) -> Sequence[CommandRecord]:
        """Return the command audit, in order."""

    def groups(
        self, action: ActionId, *, status: Some[str], group: Some[str], after: int, limit: int
    ) -> Sequence[GroupRecord]:
        """Return deployment groups after the given index, in order; an empty filter lets all through."""

    def nodes(
        self, action: ActionId, *, status: Some[str], group: Some[str], after: str, limit: int
    ) -> Sequence[NodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter lets all through."""

    def inputs(self, action: ActionId) -> Json:
        """Return what the action works from."""

    def control(self, action: ActionId, control: Control, user: str) -> RunState | None:
        """Pause, unpause or stop the action if its state allows it, with a line in its audit.

        Return the state that it was in, None if there is no such action; what is not allowed changes nothing.
        """

    def deployed(self, action: ActionId) -> Sequence[NodeName]:
        """Return the nodes of the action that are deployed, in order of name."""

    def jobs_since(self, moment: datetime) -> frozenset[JobId]:
        """Return every job of the provisioner that an action of ours has recorded since then."""

    def journal(self, action: ActionId, kinds: Some[str] = ()) -> Sequence[JournalEntry]:
        """Return what happened, in order; only entries of these kinds if any are given."""

    def journal_line(self, line: int) -> tuple[ActionId, JournalEntry] | None:
        """Return one entry by its id, and the action that it is about."""

    def late(self) -> Sequence[tuple[ActionId, JournalEntry]]:
        """Return how work that was left behind has ended, of all actions, in order."""


class Nodes(Protocol):
    """Nodes over all actions."""

    def latest(self, *, status: Some[str], prefix: str, after: str, limit: int) -> Sequence[LastNodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter lets all through.

        ``status`` is the node's in the latest action that holds it; ``prefix`` is what its name begins with.
        """

    def past(self, node: str, *, before: str | None, limit: int) -> Sequence[NodePast]:
        """Return what each action did with the node, the newest first, only those before the given action's id.

        The phases are without the names of all the nodes that they sent.
        """


@dataclass(frozen=True, slots=True)
class Straggler:
    """Work that goes on although its action no longer waits for it; ``why`` we stopped waiting."""

    action: ActionId
    job: JobId
    work: Work
    why: str
    since: datetime


class Stragglers(Protocol):
    """Work that was left behind, until its provisioner says that it has ended."""

    def open(self) -> Sequence[Straggler]:
        """Return all that have not ended, the oldest first."""

    def due(self, *, now: datetime, pause: float) -> Sequence[Straggler]:
        """Return those that are to be looked at, and put their next look ``pause`` seconds off: one worker looks."""

    def end(self, straggler: Straggler, report: JobReport, *, now: datetime, worker: str) -> None:
        """Record how it ended, as a late event of its action; a second time changes nothing."""


class Tokens(Protocol):
    """API tokens, by the hash of their secret."""

    def create(self, name: str, role: str, digest: bytes, expires_at: datetime | None) -> TokenRecord:
        """Store a token."""

    def by_digest(self, digest: bytes) -> TokenRecord | None:
        """Return the token with this digest that is neither expired nor revoked."""

    def all(self) -> Sequence[TokenRecord]:
        """Return every token, in order of creation."""

    def revoke(self, token: str) -> bool:
        """Revoke a token by its id; return whether it was there and valid."""


class Transaction(Protocol):
    """Everything that one transaction can touch."""

    @property
    def turns(self) -> Turns:
        """The engine's own rows."""

    @property
    def actions(self) -> Actions:
        """Actions and what is shown of them."""

    @property
    def stragglers(self) -> Stragglers:
        """Work that was left behind."""

    @property
    def nodes(self) -> Nodes:
        """Nodes over all actions."""

    @property
    def tokens(self) -> Tokens:
        """API tokens."""


class Store(Protocol):
    """The database. Raises StoreUnavailable when it cannot be reached."""

    def begin(self) -> AbstractContextManager[Transaction]:
        """Open a transaction; it is kept when the block ends, and undone when the block raises."""
