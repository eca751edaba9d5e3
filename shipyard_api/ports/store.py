"""Our own state: what each use case and each turn needs of it. One transaction at a time, all or nothing."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Some
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from shipyard_api.domain.actions import ActionId, ActionName, Control, RunState, Standing, StepId, StepState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.progress import GroupRecord, LastNodeRecord, NodePast, NodeRecord
from shipyard_api.ports.provisioner import JobId, JobReport, Marker, Work
from shipyard_api.ports.write_limits import WriteLimits

Json = Mapping[str, Any]
T = TypeVar("T")


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
class RequestKey:
    """What a caller named a request, so that it may be sent again; ``digest`` is of what was asked, 32 bytes.

    ``caller`` is unique to whoever it is, as a name is not: several tokens may have the same one, and several users of
    different domains.
    """

    caller: str
    key: str
    digest: bytes


class RequestKeyTaken(Exception):
    """The caller has already created an action with this key."""


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action as it is created; ``steps`` in order. ``facts`` are what its journal begins with."""

    id: ActionId
    name: ActionName
    parameters: Json
    user: str
    context_marker: str
    revision: Revision | None
    allow_intermediate_commits: bool | None
    inputs: Json
    steps: Sequence[StepId]
    key: RequestKey | None = None
    facts: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """An action as it stands. ``revision`` is None if it needs no documents, and none were committed."""

    id: ActionId
    name: ActionName
    parameters: Json
    user: str
    context_marker: str
    revision: Revision | None
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
class StepRun:
    """How a step was run: by the worker that began it; ``failed`` are the lines that end its failed attempts, in order.

    The latest attempt has the lines after the last of these; every other one those up to its own, and that.
    """

    worker: str
    failed: Sequence[int]


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One line of an action's command audit."""

    id: str
    action: ActionId
    command: str
    user: str
    at: datetime


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
class WantedActions:
    """Which actions a list is to have: those that every filter lets through; ``states`` None: any, the others empty."""

    names: Some[ActionName] = ()
    states: Some[RunState] | None = None
    users: Some[str] = ()
    since: datetime | None = None


EVERY_ACTION = WantedActions()


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
    """A turn that has begun: the action, the number that fences it, and the step it stands at (None: all ended).

    ``user`` and ``context_marker`` are the action's own.
    """

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
    user: str = ""
    context_marker: str = ""

    @property
    def on_hold(self) -> bool:
        """Whether nothing new may start. A stop outweighs a pause: it has to come to an end."""
        return self.paused and self.stopped_by is None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """An API token; its secret is not among what we know."""

    id: str
    name: str
    roles: Sequence[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


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
        """Insert the action with its steps, its audit line, its first facts and its first wake-up.

        Raises RequestKeyTaken, and SiteBusy for an action that others keep out; then nothing was inserted.
        """

    def with_key(self, caller: str, key: str) -> tuple[ActionRecord, bytes] | None:
        """Return the action that this caller created with this key, and the digest of what was asked."""

    def running_site_action(self) -> tuple[ActionId, ActionName] | None:
        """Return the site action that has not ended, if there is one."""

    def get(self, action: ActionId) -> ActionRecord | None:
        """Return the action."""

    def all(
        self, wanted: WantedActions = EVERY_ACTION, *, after: ActionId | None = None, limit: int | None = None
    ) -> Sequence[ActionRecord]:
        """Return actions after the given id, in order of creation; without anything said, every one."""

    def some(self, actions: Some[ActionId]) -> Sequence[ActionRecord]:
        """Return these actions, in order of creation."""

    def version(self, action: ActionId) -> str | None:
        """Return a text that is another one after whatever changes what is shown of the action; None for no action."""

    def versions(
        self, wanted: WantedActions = EVERY_ACTION, *, after: ActionId | None = None, limit: int | None = None
    ) -> Sequence[tuple[ActionId, str]]:
        """Return the versions of the actions that ``all`` would return."""

    def created_at(self, name: ActionName, moment: datetime) -> ActionRecord | None:
        """Return the action of that name that was created at exactly that moment."""

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

    def control(self, action: ActionId, control: Control, user: str) -> Standing | None:
        """Pause, unpause or stop the action if it stands so that it can be, with a line in its audit.

        Return how it stood before, None if there is no such action; what is refused changes nothing.
        """

    def deployed(self, action: ActionId) -> Sequence[NodeName]:
        """Return the nodes of the action that are deployed, in order of name."""

    def jobs_since(self, moment: datetime) -> frozenset[JobId]:
        """Return every job of the provisioner that an action of ours has recorded since then."""

    def journal(self, action: ActionId, kinds: Some[str] = ()) -> Sequence[JournalEntry]:
        """Return what happened, in order; only entries of these kinds if any are given."""

    def runs(self, action: ActionId) -> Mapping[StepId, StepRun]:
        """Return how each step was run that has begun."""

    def lines(
        self, action: ActionId, step: StepId, *, after: int, until: int | None, limit: int
    ) -> Sequence[JournalEntry]:
        """Return the entries about a step after one id, and up to another one, in order.

        At most ``limit``, and fewer where they are large; none only if there are no more.
        """

    def journal_line(self, line: int) -> tuple[ActionId, JournalEntry] | None:
        """Return one entry by its id, and the action that it is about."""

    def noted(self, actions: Some[ActionId] | None = None) -> Sequence[tuple[ActionId, JournalEntry]]:
        """Return, in order, what is noted on actions and none of their steps; None asks for all actions."""


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

    def create(self, name: str, roles: Sequence[str], digest: bytes, expires_at: datetime | None) -> TokenRecord:
        """Store a token."""

    def by_digest(self, digest: bytes) -> TokenRecord | None:
        """Return the token with this digest that is neither expired nor revoked."""

    def all(self) -> Sequence[TokenRecord]:
        """Return every token, in order of creation."""

    def revoke(self, token: str) -> bool:
        """Revoke a token by its id; return whether it was there and valid."""

    def used(self, token: str) -> None:
        """Write down that a token was used just now, unless it says so of the last minute. Waits for nobody."""


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

    @property
    def write_limits(self) -> WriteLimits:
        """How often each caller has written."""


class Store(Protocol):
    """The database. Raises StoreUnavailable when it cannot be reached."""

    def begin(self) -> AbstractContextManager[Transaction]:
        """Open a transaction; it is kept when the block ends, and undone when the block raises."""

    def read(self, question: Callable[[Transaction], T]) -> T:
        """Return what a question finds; it must change nothing, since it may be asked once more.

        Quicker than a transaction, and none: each statement of the question sees what is kept by then.
        """
