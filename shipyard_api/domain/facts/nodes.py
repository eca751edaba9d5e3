"""Facts about nodes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from shipyard_api.domain.facts.fact import Fact, Number
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName

_TIMEOUT = "timeout"
_QUEUE_TIMEOUT = "queue_timeout"
_REFUSED = "refused"
HELD = "held"
_HARDWARE = "hardware"
_POLICY = "policy"


class NodesChanged(Fact, frozen=True):
    """Nodes of a move have a new status; ``reasons`` are the provisioner's, of failed nodes.

    ``refused``: the provisioner rejected the move, so the nodes keep their status and get a reason. ``timed_out``
    nodes that keep their status have waited in the provisioner's queue for too long. ``held`` and ``hardware`` nodes
    failed without being sent, because of holds, or because their hardware is not what the design expects. ``withheld``
    nodes keep their status, and the policy lets no move send them any more.
    """

    kind: ClassVar[str] = "nodes_changed"

    group: GroupName
    phase: Phase
    status: NodeStatus
    nodes: tuple[NodeName, ...]
    timed_out: bool = False
    reasons: Mapping[NodeName, str] = {}
    refused: bool = False
    held: bool = False
    hardware: bool = False
    withheld: bool = False

    @property
    def reason(self) -> str | None:
        """Why the nodes failed or were not accepted, in one word of the wire; None if all is well."""
        if self.refused or self.held or self.withheld:
            return _REFUSED if self.refused else HELD if self.held else _POLICY
        if self.hardware:
            return _HARDWARE
        if self.status is not NodeStatus.FAILURE:
            return _QUEUE_TIMEOUT if self.timed_out else None
        return _TIMEOUT if self.timed_out else self.phase.value

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "group": self.group,
            "phase": self.phase.value,
            "status": self.status.value,
            "reason": self.reason,
            "nodes": list(self.nodes),
            "details": dict(self.reasons),
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        reason = stored.get("reason")
        flags = {
            "timed_out": reason in (_TIMEOUT, _QUEUE_TIMEOUT),
            "refused": reason == _REFUSED,
            "held": reason == HELD,
            "hardware": reason == _HARDWARE,
            "withheld": reason == _POLICY,
        }
        return super().from_json({**stored, "reasons": stored.get("details", {}), **flags})


class NodesKept(Fact, frozen=True):
    """The action leaves these nodes alone: they were deployed before it retried the earlier action ``action``."""

    kind: ClassVar[str] = "nodes_kept"

    nodes: tuple[NodeName, ...]
    action: str

    @property
    def detail(self) -> str:
        """The sentence that each of the nodes shows."""
        return f"kept: deployed before the retry of {self.action}"


class NodesLeft(Fact, frozen=True):
    """The action leaves these deployed nodes alone, and would give them something else if it did not.

    ``older``: what they were given is known to differ; ``unknown``: it has no record. ``differs``: the aspects of
    each older node; ``services``: whether the provisioner could run steps on deployed nodes.
    """

    kind: ClassVar[str] = "nodes_left"

    older: tuple[NodeName, ...]
    unknown: tuple[NodeName, ...] = ()
    differs: Mapping[NodeName, tuple[str, ...]] = {}
    services: bool = False

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """All of them."""
        return (*self.older, *self.unknown)


class NodesRelabelled(Fact, frozen=True):
    """These nodes have the labels of the design now: the digest of each one's labels, and of its placement."""

    kind: ClassVar[str] = "nodes_relabelled"

    labels: Mapping[NodeName, str]
    placement: Mapping[NodeName, str] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the stored form; a placement that did not change is not written."""
        return {"labels": dict(self.labels), **({"placement": dict(self.placement)} if self.placement else {})}


class TargetsKnown(Fact, frozen=True):
    """The action works on these nodes, in no deployment group. None is touched yet."""

    kind: ClassVar[str] = "targets_known"

    nodes: tuple[NodeName, ...]


class NodesGivenUp(Fact, frozen=True):
    """The action will not go on with these nodes, unless one of them has ended by itself; ``why`` is what failed.

    A node whose teardown has begun is lost by it; the others were not touched.
    """

    kind: ClassVar[str] = "nodes_given_up"

    nodes: tuple[NodeName, ...]
    why: str


class NodesFailed(Fact, frozen=True):
    """The deployment of these nodes failed, on a site that holds a node after ``hold_after`` failures in a row."""

    kind: ClassVar[str] = "nodes_failed"

    nodes: tuple[NodeName, ...]
    hold_after: int


class NodesLate(Fact, frozen=True):
    """A phase has lasted longer with these nodes than it usually does: ``usual`` seconds of each. It goes on.

    ``seconds``: how long it had lasted when that was noticed. ``hold``: whether the nodes are held because of it.
    """

    kind: ClassVar[str] = "nodes_late"

    group: GroupName
    phase: Phase
    usual: Mapping[NodeName, Number]
    seconds: Number
    hold: bool = False


class NodesNotLate(Fact, frozen=True):
    """The phase is done with these late nodes. Their next status may follow later, with that of their batch."""

    kind: ClassVar[str] = "nodes_not_late"

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]


FACTS: tuple[type[Fact], ...] = (
    NodesChanged,
    NodesKept,
    NodesLeft,
    NodesRelabelled,
    TargetsKnown,
    NodesGivenUp,
    NodesFailed,
    NodesLate,
    NodesNotLate,
)
