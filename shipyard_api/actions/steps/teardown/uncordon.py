"""Uncordon: let pods run again on a node that Shipyard has cordoned (product, section 6)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, moved
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import Way, command
from shipyard_api.domain.teardown.labels import CORDONED_KEY, SERVICE_CORDONED_KEY
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded

UNCORDON_SECONDS = 60.0
"""Seconds in which the removal of a cordon is retried."""
_FOREIGN = (
    f"the node is cordoned without Shipyard's label {CORDONED_KEY}, and no teardown of Shipyard has cleared that label:"
    " a person cordoned it. Use kubectl uncordon"
)
_RELABELLED = command(Way.RELABEL.value, {})
_CLEARED = f"the labels that its teardown cleared stay away: `{_RELABELLED}` sets the design's"


class Cordon(Enum):
    """The cordon of a node before the operation. ``cleared``: Shipyard's, by its record, as its label was cleared."""

    OURS = "ours"
    CLEARED = "cleared"
    FOREIGN = "foreign"
    NONE = "none"
    NO_NODE = "no-node"


@dataclass(frozen=True, slots=True)
class Uncordon(Part[Cordon]):
    """Takes a cordon of Shipyard's back, that of a teardown or of a service. It may be repeated.

    ``cleared``: whether a teardown has left the node cordoned and cleared the label that says so.
    """

    nodes: ClusterNodes
    cleared: Callable[[NodeName], bool]
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.UNCORDON

    def seconds(self, state: NodeState) -> float:
        """Return the time in which Kubernetes must answer; it is not a parameter."""
        return UNCORDON_SECONDS * self.pace.factor

    def decide(self, state: NodeState, now: datetime) -> Act[Request]:
        """Take the cordon back."""
        return self.carry_on(state, now)

    def perform(self, request: Request, marker: Marker) -> Cordon:
        """Uncordon the node if a label, or the record of a cleared one, says that Shipyard cordoned it."""
        node = self.nodes.node(request.node)
        if node is None:
            return Cordon.NO_NODE
        labels = [label for label in (CORDONED_KEY, SERVICE_CORDONED_KEY) if label in node.labels]
        for label in labels:
            self.nodes.uncordon(node, label=label)
        if not node.cordoned:
            return Cordon.NONE
        if labels or not self.cleared(request.node):
            return Cordon.OURS if labels else Cordon.FOREIGN
        self.nodes.uncordon(node, label=CORDONED_KEY)
        return Cordon.CLEARED

    def fold(self, state: NodeState, asked: Request, report: Cordon, now: datetime) -> Folded[NodeState]:
        """End the operation."""
        match report:
            case Cordon.NO_NODE:
                return self.unknown(state, now)
            case Cordon.FOREIGN:
                return moved(state, state.teardown.precondition_failed(self.operation, _FOREIGN), now)
            case Cordon.NONE:
                return self.succeeded(state, now, note="it was not cordoned")
            case Cordon.CLEARED:
                return self.succeeded(state, now, note=_CLEARED)
            case Cordon.OURS:
                return self.succeeded(state, now)
