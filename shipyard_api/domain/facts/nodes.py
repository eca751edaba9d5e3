"""Facts about nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName

_TIMEOUT = "timeout"
_QUEUE_TIMEOUT = "queue_timeout"
_REFUSED = "refused"
_HELD = "held"
_POLICY = "policy"


@dataclass(frozen=True, slots=True)
class NodesChanged:
    """Nodes of a move have a new status; ``reasons`` are the provisioner's, of failed nodes.

    ``refused``: the provisioner rejected the move, so the nodes keep their status and get a reason. ``timed_out``
    nodes that keep their status have waited in the provisioner's queue for too long. ``held`` nodes failed because of
    holds; they were not sent. ``withheld`` nodes keep their status, and the policy lets no move send them any more.
    """

    kind: ClassVar[str] = "nodes_changed"
    version: ClassVar[int] = 1

    group: GroupName
    phase: Phase
    status: NodeStatus
    nodes: tuple[NodeName, ...]
    timed_out: bool = False
    reasons: Mapping[NodeName, str] = field(default_factory=dict)
    refused: bool = False
    held: bool = False
    withheld: bool = False

    @property
    def reason(self) -> str | None:
        """Why the nodes failed or were not accepted, in one word of the wire; None if all is well."""
        if self.refused or self.held or self.withheld:
            return _REFUSED if self.refused else _HELD if self.held else _POLICY
        if self.status is not NodeStatus.FAILURE:
            return _QUEUE_TIMEOUT if self.timed_out else None
        return _TIMEOUT if self.timed_out else self.phase.value

    def to_json(self) -> JsonObject:
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
        details = reading.mapping(stored, "details")
        return cls(
            GroupName(reading.text(stored, "group")),
            reading.choice(Phase, stored, "phase"),
            reading.choice(NodeStatus, stored, "status"),
            reading.nodes(stored),
            stored.get("reason") in (_TIMEOUT, _QUEUE_TIMEOUT),
            {NodeName(node): reading.text(details, node) for node in details},
            stored.get("reason") == _REFUSED,
            stored.get("reason") == _HELD,
            stored.get("reason") == _POLICY,
        )


@dataclass(frozen=True, slots=True)
class NodesKept:
    """The action leaves these nodes alone: they were deployed before it retried the earlier action ``action``."""

    kind: ClassVar[str] = "nodes_kept"
    version: ClassVar[int] = 1

    nodes: tuple[NodeName, ...]
    action: str

    @property
    def detail(self) -> str:
        """The sentence that each of the nodes shows."""
        return f"kept: deployed before the retry of {self.action}"

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"nodes": list(self.nodes), "action": self.action}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.nodes(stored), reading.text(stored, "action"))


@dataclass(frozen=True, slots=True)
class TargetsKnown:
    """The action works on these nodes, in no deployment group. It has touched none of them yet."""

    kind: ClassVar[str] = "targets_known"
    version: ClassVar[int] = 1

    nodes: tuple[NodeName, ...]

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"nodes": list(self.nodes)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.nodes(stored))


@dataclass(frozen=True, slots=True)
class NodesGivenUp:
    """The action will not go on with these nodes, unless one of them has ended by itself; ``why`` is what failed.

    A node whose teardown has begun is lost by it; the others were not touched.
    """

    kind: ClassVar[str] = "nodes_given_up"
    version: ClassVar[int] = 1

    nodes: tuple[NodeName, ...]
    why: str

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"nodes": list(self.nodes), "why": self.why}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.nodes(stored), reading.text(stored, "why"))


@dataclass(frozen=True, slots=True)
class NodesFailed:
    """The deployment of these nodes failed, on a site that holds a node after ``hold_after`` failures in a row."""

    kind: ClassVar[str] = "nodes_failed"
    version: ClassVar[int] = 1

    nodes: tuple[NodeName, ...]
    hold_after: int

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"nodes": list(self.nodes), "hold_after": self.hold_after}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.nodes(stored), reading.number(stored, "hold_after"))


FACTS: tuple[type[Fact], ...] = (NodesChanged, NodesKept, TargetsKnown, NodesGivenUp, NodesFailed)
