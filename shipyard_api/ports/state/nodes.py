"""Nodes for readers: as actions have them, what peers showed of them when an action ended, and stragglers."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.specification.impact import NodeImpact
from shipyard_api.domain.teardown.drain import LeftCordon
from shipyard_api.domain.teardown.order import Operation, Outcome
from shipyard_api.ports.provisioner import JobId, Work
from shipyard_api.ports.state.groups import PhaseRecord


class Late(Struct, frozen=True):
    """Since when a node is late, and how many seconds its phase usually lasts at most."""

    since: datetime
    usual: float


class NodeRecord(Struct, frozen=True):
    """A node of an action; ``group`` submitted it last, ``groups`` contain it. ``late``: None unless it is late.

    ``older``: the action left the node alone, and it runs an older specification, or one that is not known.
    """

    name: str
    status: NodeStatus
    reason: str | None
    detail: str
    group: str | None
    groups: Sequence[str]
    updated_at: datetime
    late: Late | None = None
    older: bool = False


class NodeLine(NamedTuple):
    """The least about a node of an action: cheap to read for 10,000 of them. ``groups`` contain it; ``older``: as of
    ``NodeRecord``.
    """

    name: str
    status: NodeStatus
    groups: Sequence[str]
    older: bool = False


class PendingWork(Struct, frozen=True):
    """What an open action has still to do with a node: the phase that it has not ended."""

    action: ActionId
    name: ActionName
    phase: Phase


class LastNodeRecord(Struct, frozen=True):
    """A node in the latest action that worked on it, its active holds, and the cordon that a drain left behind.

    Without such an action, it is the latest that contains it. ``pending``: of a held node, what open actions have still
    to do with it. ``roles``, ``tags``: those assigned to it for tasks. ``impact``: what the committed design asks of a
    deployed node; None if it is not known, or the design lacks it. ``in_design``: None if the design cannot be read.
    """

    action: ActionId
    node: NodeRecord
    holds: Sequence[Hold] = ()
    cordon: LeftCordon | None = None
    pending: Sequence[PendingWork] = ()
    roles: Sequence[str] = ()
    tags: Sequence[str] = ()
    impact: NodeImpact | None = None
    in_design: bool | None = None


class NodeChange(Struct, frozen=True):
    """A change of a node's status in an action. ``late``: after the action had stopped waiting, so it did not count.

    ``phase`` and ``group`` are those of the move that submitted the node; None if none did.
    """

    at: datetime
    status: NodeStatus
    phase: str | None
    group: str | None
    reason: str | None
    detail: str
    late: bool


class NodeHistory(Struct, frozen=True):
    """What one action did with a node: its record, its changes of status, and the phases that submitted it.

    Changes are in order of time; phases are in the order of their start.
    """

    action: ActionId
    name: ActionName
    state: RunState
    created_at: datetime
    node: NodeRecord
    changes: Sequence[NodeChange]
    phases: Sequence[PhaseRecord]


class TeardownRecord(Struct, frozen=True):
    """The beginning or the end of one operation of a node's teardown. ``name``: of the action that did it."""

    action: ActionId
    name: ActionName
    operation: Operation
    outcome: Outcome
    message: str
    at: datetime


class Unobserved(Struct, frozen=True):
    """An ended action whose nodes are not observed yet; ``parameters`` as they were stored."""

    action: ActionId
    name: ActionName
    parameters: JsonObject
    revision: Revision | None
    ended_at: datetime


class Straggler(Struct, frozen=True):
    """Work that continues although its action no longer waits for it; ``why`` the action stopped waiting."""

    action: ActionId
    job: JobId
    work: Work
    why: str
    since: datetime
