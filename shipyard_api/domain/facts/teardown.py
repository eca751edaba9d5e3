"""Facts about nodes that are taken out of their cluster."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.order import Operation, Outcome


@dataclass(frozen=True, slots=True)
class TeardownChanged:
    """An operation of a node's teardown has begun or ended.

    ``etcd_begun``: from now on a member of the node may have left its etcd cluster, so the node is not drained again.
    """

    kind: ClassVar[str] = "teardown_changed"
    version: ClassVar[int] = 1

    node: NodeName
    operation: Operation
    outcome: Outcome
    message: str = ""
    etcd_begun: bool = False

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "node": self.node,
            "operation": self.operation.value,
            "outcome": self.outcome.value,
            "message": self.message,
            "etcd_begun": self.etcd_begun,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            NodeName(reading.text(stored, "node")),
            reading.choice(Operation, stored, "operation"),
            reading.choice(Outcome, stored, "outcome"),
            reading.text(stored, "message"),
            bool(stored.get("etcd_begun")),
        )


@dataclass(frozen=True, slots=True)
class TeardownWaits:
    """An operation waits for something else than before: one sentence for each pod or cluster; none: for nothing."""

    kind: ClassVar[str] = "teardown_waits"
    version: ClassVar[int] = 1

    node: NodeName
    operation: Operation
    reasons: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"node": self.node, "operation": self.operation.value, "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        operation = reading.choice(Operation, stored, "operation")
        return cls(NodeName(reading.text(stored, "node")), operation, reading.texts(stored, "reasons"))


@dataclass(frozen=True, slots=True)
class PodsEvicted:
    """Kubernetes accepted the eviction of these pods, or (``forced``) their deletion past a budget."""

    kind: ClassVar[str] = "pods_evicted"
    version: ClassVar[int] = 1

    node: NodeName
    pods: tuple[str, ...]
    forced: bool = False

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"node": self.node, "pods": list(self.pods), "forced": self.forced}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(NodeName(reading.text(stored, "node")), reading.texts(stored, "pods"), bool(stored.get("forced")))


@dataclass(frozen=True, slots=True)
class LabelsCleared:
    """These labels of the node were removed."""

    kind: ClassVar[str] = "labels_cleared"
    version: ClassVar[int] = 1

    node: NodeName
    labels: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"node": self.node, "labels": list(self.labels)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(NodeName(reading.text(stored, "node")), reading.texts(stored, "labels"))


@dataclass(frozen=True, slots=True)
class EtcdMemberRemoved:
    """A member of the node has left its etcd cluster. ``waived``: what of the site's minimum the rest misses."""

    kind: ClassVar[str] = "etcd_member_removed"
    version: ClassVar[int] = 1

    node: NodeName
    cluster: str
    member: str
    waived: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"node": self.node, "cluster": self.cluster, "member": self.member, "waived": list(self.waived)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        node, cluster, member = (reading.text(stored, key) for key in ("node", "cluster", "member"))
        return cls(NodeName(node), cluster, member, reading.texts(stored, "waived"))


FACTS: tuple[type[Fact], ...] = (TeardownChanged, TeardownWaits, PodsEvicted, LabelsCleared, EtcdMemberRemoved)
