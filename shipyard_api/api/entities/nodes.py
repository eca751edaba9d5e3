"""Nodes of actions and of the site, and the history of one."""

from collections.abc import Sequence
from typing import Annotated

from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.groups import Phase, PhaseName
from shipyard_api.api.entities.holds import Hold
from shipyard_api.api.entities.types import ActionName, LookAt, Next, Ulid, Zulu, component, described, one_of, word
from shipyard_api.domain import groups, nodes
from shipyard_api.domain.actions import RunState
from shipyard_api.domain.teardown.order import Operation, Outcome

_WIRE = {"action": "action_id", "name": "action", "state": "dag_status"}
"""The names on the wire for what records call the id, the name and the state of an action."""

NodeStatus = Annotated[str, one_of(nodes.NodeStatus, "NodeStatus")]
NodeReason = Annotated[
    str,
    one_of(
        [*groups.Phase, "timeout", "queue_timeout", "refused", "held", "hardware", "policy", "teardown", "skipped"],
        "NodeReason",
        description=(
            "The phase in which the node failed, or a timeout; held if a hold kept it from being submitted, hardware "
            "if its own is not what the design expects; refused if the provisioner rejected its submission, and "
            "queue_timeout if it never began, which both leave the status as it was; policy if a rule of the rollout "
            "policy stopped it; teardown from the beginning of its teardown until it is prepared again; skipped if a "
            "step before failed, so that the node was not touched. Null otherwise."
        ),
    ),
]


class Late(Entity, rename={"usual": "usual_seconds"}):
    """Since when a node is late: its phase lasts longer than usual, by the ``late`` of the rollout policy.

    ``usual_seconds``: How long the phase usually lasts at most with such a node.
    """

    since: Zulu
    usual: float


class Node(Entity, kw_only=True):
    """A node of an action.

    ``detail``: The provisioner's message. ``group``: The group that submitted it last. ``groups``: The groups that
    contain it. ``late``: Null unless it is late; the node's next status ends it. It is no verdict.
    """

    name: str
    status: NodeStatus
    reason: NodeReason | None
    detail: str
    group: str | None
    groups: list[str]
    updated_at: Zulu
    late: Late | None = None


class NodeList(Entity):
    """A page of nodes of an action."""

    nodes: list[Node]
    next: Next = None


class PendingWork(Entity, rename=_WIRE):
    """What an open action has still to do with a node."""

    action: Ulid
    name: ActionName
    phase: PhaseName


class Cordon(Entity, rename=_WIRE):
    """The drain of an ended action that left a node cordoned.

    ``commands``: What brings the node back; one of them is enough.
    """

    action: Ulid
    name: ActionName
    since: Zulu
    commands: list[str]


class NodeImpact(Entity, rename={"impact": "class"}):
    """What a design asks of a node, and the aspects in which the node differs."""

    impact: Annotated[str, component("Impact", word)]
    aspects: list[str]


class LastNode(Node, kw_only=True, rename=_WIRE):
    """A node in the latest action that worked on it.

    ``holds``: The active holds on the node. ``pending``: What open actions have still to do with the node, if it is
    held; else empty. ``in_design``: Whether the committed design has the node; null if the design cannot be read now.
    ``cordon``: The drain of an ended action that left the node cordoned, as far as Shipyard's own records know:
    Kubernetes is not asked. Null after an uncordon, a deployment, or the removal from Kubernetes by Shipyard.
    ``roles``: The roles of the node in the site, by which tasks are placed. ``tags``: Its tags there, of its roles, of
    plug-ins and of users. ``impact``: What the documents of the committed design ask of the node, by what it was
    given; null for a node that is not deployed or not in the design, and if the design cannot be read now. Deploy
    templates are not compared: a plan does.
    """

    action: Ulid
    holds: Sequence[Hold] = ()
    pending: Sequence[PendingWork] = ()
    in_design: bool | None = None
    cordon: Cordon | None = None
    roles: Sequence[str] = ()
    tags: Sequence[str] = ()
    impact: NodeImpact | None = None


class LastNodeList(Entity):
    """A page of nodes of the site."""

    nodes: list[LastNode]
    next: Next = None


class NodePhase(Phase, kw_only=True):
    """A phase of a group, or a batch of one, that submitted a node."""

    group: str


class ReportedNode(Node, kw_only=True):
    """A node in the report of its action.

    ``phases``: The phases that submitted it, in order of their start.
    """

    phases: Sequence[NodePhase] = ()
    look_at: LookAt = None


class PastPhase(NodePhase, kw_only=True):
    """A phase that submitted a node, with what the provisioner said of it."""

    message: str
    look_at: LookAt


class NodeChange(Entity):
    """A change of a node's status in an action.

    ``phase``: null if no group had submitted it. ``late``: Whether it came after a timeout or a stop; it then does not
    count.
    """

    at: Zulu
    status: NodeStatus
    phase: PhaseName | None
    group: str | None
    reason: NodeReason | None
    detail: str
    late: bool


class NodePast(Entity, rename=_WIRE):
    """The node in one action, and its history there.

    ``changes``: Every change of status, in order of time. ``phases``: The phases that submitted it, in order of their
    start.
    """

    action: Ulid
    name: ActionName
    state: Annotated[str, one_of(RunState)]
    created_at: Zulu
    status: NodeStatus
    reason: NodeReason | None
    detail: str
    group: str | None
    groups: list[str]
    updated_at: Zulu
    late: Late | None
    changes: list[NodeChange]
    phases: list[PastPhase]


class TeardownLine(Entity, rename=_WIRE):
    """The beginning or the end of an operation that takes a node out of its cluster."""

    action: Ulid
    name: ActionName
    operation: Annotated[str, one_of(Operation)]
    outcome: Annotated[str, one_of(Outcome)]
    message: str
    at: Zulu


class NodeDescription(LastNode, kw_only=True):
    """A node, and what each action did with it.

    ``look_at``: The web page of the node at the provisioner, as ``[provisioner] node_page`` has it; null if it is not
    set. ``history``: What each action did with the node, newest first. ``teardowns``: The latest beginnings and ends of
    operations that take the node out of its cluster, newest first.
    """

    look_at: str | None = None
    history: list[NodePast]
    teardowns: Annotated[Sequence[TeardownLine], described(maxItems=100)] = ()
    next: Next = None
