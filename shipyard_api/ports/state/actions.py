"""Actions, their steps and their command audit."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId, StepState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.fact import Fact, JournalEntry
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.plans.plan import PlanId
from shipyard_api.domain.waiting import WaitingFor


class RequestKey(Struct, frozen=True):
    """An idempotency key, under which a request may be repeated; ``digest`` is the SHA-256 of the request.

    ``caller`` is the caller's unique key. A name is not unique: several tokens may share one, and so may users of
    different domains.
    """

    caller: str
    key: str
    digest: bytes


class NewAction(Struct, frozen=True):
    """An action to create; ``steps`` in order. ``facts`` are the first entries of its journal.

    ``exclusive``: no other such action may run beside it; with ``nodes``, only none that may work on one of them.
    ``plan``: the stored plan that it is started from, if any. ``software``: what it reads of the site's task graph.
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
    plan: PlanId | None = None
    software: JsonObject | None = None


class ActionRecord(Struct, frozen=True):
    """A stored action. ``revision`` is None if it needs no documents and none were committed.

    ``waiting_for``: the wait that the latest turn recorded; None before the first turn.
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


class StepRecord(Struct, frozen=True):
    """A stored step; ``detail`` is one sentence about its outcome, set when it has ended."""

    action: ActionId
    id: StepId
    index: int
    state: StepState | None
    started_at: datetime | None
    ended_at: datetime | None
    detail: str


class CommandRecord(Struct, frozen=True):
    """One line of an action's command audit."""

    id: str
    action: ActionId
    command: str
    user: str
    at: datetime


class DescribedAction(Struct, frozen=True):
    """An action with its steps, its command audit and entries of its journal, all in order, as of one moment."""

    action: ActionRecord
    steps: Sequence[StepRecord]
    commands: Sequence[CommandRecord]
    entries: Sequence[JournalEntry]


class Successor(Struct, frozen=True):
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


class ActionFilters(Struct, frozen=True):
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
