"""Labels of a node that is torn down, and requirements on labels (seed 004, Clear Labels; contract: promenade, 4.2)."""

from collections.abc import Iterable, Mapping
from enum import Enum

from msgspec import Struct

DECOMMISSION_KEY = "promenade-decomission"
DECOMMISSION_VALUE = "enabled"
"""The label that starts the DaemonSet which stops the kubelet, spelt as in the seed."""

CORDONED_KEY = "shipyard-teardown"
"""The label of a node that a teardown has cordoned; one that was cordoned before stays so when the teardown fails."""

SERVICE_CORDONED_KEY = "shipyard-service"
"""The label of a node that a service has cordoned; one that an operator had cordoned before stays so."""

_OWN_NAMESPACES = ("kubernetes.io", "k8s.io")


def is_kept(key: str) -> bool:
    """Return whether a label stays: the part before ``/`` is, or ends with, a namespace of Kubernetes itself."""
    namespace, slash, _ = key.partition("/")
    return bool(slash) and namespace.endswith(_OWN_NAMESPACES)


def to_clear(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys to remove from the node, in order; none once they are cleared."""
    return tuple(sorted(key for key in labels if not is_kept(key)))


def in_the_way(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that forbid the removal of the node from the cluster, in order."""
    return tuple(key for key in to_clear(labels) if (key, labels[key]) != (DECOMMISSION_KEY, DECOMMISSION_VALUE))


class Operator(Enum):
    """Operator of a requirement; the values are Kubernetes' words."""

    IN = "In"
    NOT_IN = "NotIn"  # codespell:ignore notin
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


class Requirement(Struct, frozen=True):
    """A condition on a label key. An entry of ``matchLabels`` or ``nodeSelector`` is ``In`` with one value."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels meet the condition; ``NOT_IN`` also holds without the key."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or len(self.values) != 1:
            return False
        try:
            actual, bound = int(value), int(self.values[0])
        except ValueError:
            return False
        return actual > bound if self.operator is Operator.GREATER else actual < bound


def all_hold(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Return whether the labels meet every condition; no condition is met by all."""
    return all(requirement.holds(labels) for requirement in requirements)


class NodeTerm(Struct, frozen=True):
    """One term of a required node affinity: conditions on the labels, and on the field ``metadata.name``."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class NodeFit(Struct, frozen=True):
    """Which nodes the pod template of a DaemonSet wants. ``affinity`` is None where it requires nothing."""

    selector: tuple[Requirement, ...] = ()
    affinity: tuple[NodeTerm, ...] | None = None

    def fits(self, node: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node with these labels is wanted. Terms are alternatives, and an empty one is none."""
        if not all_hold(self.selector, labels):
            return False
        if self.affinity is None:
            return True
        fields = {"metadata.name": node}
        return any(
            (term.labels or term.fields) and all_hold(term.labels, labels) and all_hold(term.fields, fields)
            for term in self.affinity
        )
