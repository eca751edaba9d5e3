"""Requirements on labels, as label selectors and node affinity write them (Kubernetes API)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class Operator(Enum):
    """Operator of a requirement; the values are Kubernetes' words."""

    IN = "In"
    NOT_IN = "NotIn"  # codespell:ignore notin
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
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


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a required node affinity: conditions on the labels, and on the field ``metadata.name``."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFit:
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
