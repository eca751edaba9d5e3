"""Actions, their steps and their command audit."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from shipyard_api.domain.actions import ActionId, ActionName, ActionState, Control, RunState, StepId, StepState
from shipyard_api.domain.approvals import Approval, WaveGate
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.entry import JournalEntry
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, JobAnswers
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.groups import GroupRecord
from shipyard_api.ports.state.nodes import NodeRecord


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An idempotency key, under which a request may be repeated; ``digest`` is the SHA-256 of the request.

    ``caller`` is the caller's unique key. A name is not unique: several tokens may share one, and so may users of
    different domains.
    """

    caller: str
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action to create; ``steps`` in order. ``facts`` are the first entries of its journal.

    ``exclusive``: no other such action may run beside it; with ``nodes``, only none that may work on one of them.
    """

    id: ActionId
    name: ActionName
    parameters: JsonObject
    user: str
    context_marker: str
    revision: Revision | None
    allow_intermediate_commits: bool | None
    inputs: JsonObject
    steps: Sequence[StepId]
    key: RequestKey | None = None
    facts: Sequence[Fact] = ()
    exclusive: bool = True
    nodes: Collection[NodeName] | None = None


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """A stored action. ``revision`` is None if it needs no documents and none were committed.

    ``waiting_for``: what it waits for, as its latest turn left it; None before the first turn.
    """

    id: ActionId
    name: ActionName
    parameters: JsonObject
    user: str
    context_marker: str
    revision: Revision | None
    allow_intermediate_commits: bool | None
    state: RunState
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    epoch: int
    waiting_for: WaitingFor | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A stored step; ``detail`` is one sentence about its outcome, set when it has ended."""

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
class DescribedAction:
    """An action with its steps, its command audit and entries of its journal, all in order, as of one moment."""

    action: ActionRecord
    steps: Sequence[StepRecord]
    commands: Sequence[CommandRecord]
    entries: Sequence[JournalEntry]


@dataclass(frozen=True, slots=True)
class Successor:
    """A site action created after another one, and nodes of that one which it has worked on, in order of name.

    Without nodes, it has deployed another revision.
    """

    action: ActionId
    name: ActionName
    revision: Revision | None
    nodes: Sequence[NodeName]


class RunningSiteAction(NamedTuple):
    """A site action that has not ended. ``nodes``: the requested nodes that it names; empty if it may work on any."""

    action: ActionId
    name: ActionName
    nodes: Sequence[NodeName] = ()


@dataclass(frozen=True, slots=True)
class ActionFilters:
    """The filters of a list of actions, all of which an action must pass. Empty, or None for ``states``: no filter."""

    names: Collection[ActionName] = ()
    states: Collection[RunState] | None = None
    users: Collection[str] = ()
    since: datetime | None = None


# The input that holds members of the request which mean nothing to the action.
FURTHER = "further"
# The input that holds the limits that the action was created with.
LIMITS = "limits"
NO_FILTERS = ActionFilters()


class Actions(Protocol):
    """Actions, their steps, groups, nodes and command audit."""

    def create(self, action: NewAction) -> ActionRecord:
        """Insert the action with its steps, its audit line, its first facts and its first wake-up.

        Raises RequestKeyTaken, or SiteBusy if another action excludes it; then nothing was inserted.
        """

    def with_key(self, caller: str, key: str) -> tuple[ActionRecord, bytes] | None:
        """Return the action that this caller created with this key, and the digest of its request."""

    def lock_creation(self) -> None:
        """Let no other site action and no other node operation be created until the transaction has ended.

        Later reads are complete: each of them takes this lock before it looks for the others.
        """

    def node_operations(self) -> Sequence[ActionRecord]:
        """Return the node operations that have not ended, in order of creation."""

    def ended(self, actions: Collection[ActionId]) -> Collection[ActionId]:
        """Return those of the actions that have ended."""

    def running_site_action(self, nodes: Collection[NodeName] | None = None) -> RunningSiteAction | None:
        """Return the first site action that has not ended and may work on one of the nodes (None: of any), if any."""

    def get(self, action: ActionId) -> ActionRecord | None:
        """Return the action."""

    def matching(
        self,
        filters: ActionFilters = NO_FILTERS,
        *,
        after: ActionId | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> Sequence[ActionRecord]:
        """Return the actions that pass the filters, in order of creation or ``descending``.

        ``after``: only those that follow this id in that order. ``limit``: how many at most.
        """

    def by_ids(self, actions: Collection[ActionId]) -> Sequence[ActionRecord]:
        """Return these actions, in order of creation."""

    def version(self, action: ActionId) -> str | None:
        """Return an opaque version that changes whenever the action's representation does; None for no action."""

    def versions(
        self,
        filters: ActionFilters = NO_FILTERS,
        *,
        after: ActionId | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> Sequence[tuple[ActionId, str]]:
        """Return the versions of the actions that ``matching`` returns for the same arguments.

        They change with the action and its steps, but not with every entry of work items, as ``version`` does.
        """

    def created_at(self, name: ActionName, moment: datetime) -> ActionRecord | None:
        """Return the action of that name that was created at exactly that moment."""

    def steps(self, actions: Collection[ActionId]) -> Mapping[ActionId, Sequence[StepRecord]]:
        """Return the steps of these actions, in order."""

    def described(
        self, action: ActionId, kinds: Collection[str], known: str = ""
    ) -> tuple[str, DescribedAction | None] | None:
        """Return the version of the action and, unless that is the known one, the action; None if it is missing.

        The action comes with its journal entries of these kinds. Both are as of one moment.
        """

    def groups(
        self, action: ActionId, *, status: Collection[str], group: Collection[str], after: int, limit: int
    ) -> Sequence[GroupRecord]:
        """Return deployment groups after the given index, in order; an empty filter passes all."""

    def nodes(
        self,
        action: ActionId,
        *,
        status: Collection[str],
        group: Collection[str],
        names: Collection[str] = (),
        after: str,
        limit: int,
    ) -> Sequence[NodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter passes all."""

    def inputs(self, action: ActionId) -> JsonObject:
        """Return the frozen inputs of the action."""

    def further(self, actions: Collection[ActionId]) -> Mapping[ActionId, JsonObject]:
        """Return what these actions' inputs have under FURTHER, without those that have nothing."""

    def control(self, action: ActionId, control: Control, user: str) -> ActionState | None:
        """Pause, unpause or stop the action if its state allows it, with a line in its audit.

        Return its state before, None if there is no such action. A refused control changes nothing.
        """

    def lock(self, action: ActionId) -> None:
        """Lock an action, if it exists, until the transaction has ended; no turn writes meanwhile."""

    def limits(self, action: ActionId) -> TeardownLimits:
        """Return the limits of an action: those that were set, else those of its inputs, else the defaults.

        The action has frozen the JSON of its limits in its inputs under LIMITS.
        """

    def doubts(self, action: ActionId) -> tuple[Sequence[Doubt], JobAnswers]:
        """Return what an operator is asked about jobs whose record may be lost, and what was answered so far."""

    def answer_doubts(self, action: ActionId, answers: JobAnswers, user: str, text: str) -> None:
        """Set what is known of jobs whose record may be lost, with a line in the audit and a note (``text``).

        A running action looks at once.
        """

    def approvals(self, action: ActionId) -> tuple[Sequence[WaveGate], Sequence[Approval]]:
        """Return the gates that an action waits for, answered or not, and the answers so far, the oldest first."""

    def approve(self, action: ActionId, approvals: Sequence[Approval], user: str, text: str) -> None:
        """Set the answers to gates, with a line in the audit and a note (``text``). A running action looks at once."""

    def set_limits(self, action: ActionId, limits: TeardownLimits, user: str, text: str) -> None:
        """Set the limits of an action, with a line in its audit and ``text`` as a note, and wake it."""

    def acknowledge(self, action: ActionId, user: str, text: str) -> None:
        """Acknowledge the failures of an action, in its audit and with ``text`` as a note; only the first counts."""

    def deployed(self, action: ActionId) -> Sequence[NodeName]:
        """Return the nodes of the action that are deployed, in order of name."""

    def successor(self, action: ActionRecord) -> Successor | None:
        """Return the newest site action that overtook this one: it worked on its nodes, or deployed another revision.

        If the nodes of this one are unknown, work on any node counts.
        """
