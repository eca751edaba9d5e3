"""Facts about nodes that are taken out of their cluster."""

from typing import ClassVar

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.order import Operation, Outcome


class TeardownChanged(Fact, frozen=True):
    """An operation of a node's teardown has begun or ended.

    ``etcd_begun``: from now on a member of the node may have left its etcd cluster, so the node is not drained again.
    """

    kind: ClassVar[str] = "teardown_changed"

    node: NodeName
    operation: Operation
    outcome: Outcome
    message: str = ""
    etcd_begun: bool = False


class TeardownWaits(Fact, frozen=True):
    """An operation waits for something else than before: one sentence for each pod or cluster; none: for nothing."""

    kind: ClassVar[str] = "teardown_waits"

    node: NodeName
    operation: Operation
    reasons: tuple[str, ...]


class PodsEvicted(Fact, frozen=True):
    """Kubernetes accepted the eviction of these pods, or (``forced``) their deletion past a budget."""

    kind: ClassVar[str] = "pods_evicted"

    node: NodeName
    pods: tuple[str, ...]
    forced: bool = False


class LabelsCleared(Fact, frozen=True):
    """These labels of the node were removed."""

    kind: ClassVar[str] = "labels_cleared"

    node: NodeName
    labels: tuple[str, ...]


class EtcdMemberRemoved(Fact, frozen=True):
    """A member of the node has left its etcd cluster. ``waived``: what of the site's minimum the rest misses."""

    kind: ClassVar[str] = "etcd_member_removed"

    node: NodeName
    cluster: str
    member: str
    waived: tuple[str, ...] = ()


FACTS: tuple[type[Fact], ...] = (TeardownChanged, TeardownWaits, PodsEvicted, LabelsCleared, EtcdMemberRemoved)
