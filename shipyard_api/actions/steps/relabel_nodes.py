"""The step that sets labels of Kubernetes nodes, one node after another."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.nodes import NodesRelabelled
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import labelled
from shipyard_api.domain.stored import ByFields, Number
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Done, Failed, Folded, PeerFailure, Step

_SYSTEM = "Kubernetes"
_ATTEMPTS = 5


class RelabelState(ByFields, Struct, frozen=True):
    """``todo``: the nodes whose turn comes, with their labels; ``failed``: those that have failed, with the reason.

    ``placed``: the digest of the placement of each node in the design.
    """

    STORED_VERSION: ClassVar = 1
    OPTIONAL: ClassVar = frozenset({"placed"})

    todo: tuple[tuple[NodeName, Mapping[str, str]], ...]
    timeout: Number
    done: int = 0
    failed: tuple[tuple[NodeName, str], ...] = ()
    placed: Mapping[NodeName, str] = msgspec.field(default_factory=dict)


class SetLabels(ByFields, Struct, frozen=True):
    """Set the labels of a node."""

    node: NodeName
    labels: Mapping[str, str]


class Labelled(Struct, frozen=True):
    """The labels that were not so before."""

    changed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RelabelNodes(Step[RelabelState, Never, SetLabels, Labelled]):
    """Sets the labels of the inputs, and changes no others. A node that fails does not keep the next from its turn.

    ``nodes`` is None where no Kubernetes is configured any more. ``tolerant``: failures do not fail the step.
    """

    version: ClassVar[int] = 1

    id: StepId
    nodes: ClusterNodes | None
    always: bool = False
    tolerant: bool = False

    def begin(self, inputs: ActionInputs) -> RelabelState:
        """Start with every node."""
        todo = tuple((inputs.labels or {}).items())
        return RelabelState(todo, inputs.configuration.relabel_nodes.timeout, placed=inputs.placed or {})

    load_state = staticmethod(RelabelState.from_json)
    load_effect = staticmethod(SetLabels.from_json)

    def decide(self, state: RelabelState, now: datetime) -> Act[SetLabels] | Done | Failed:
        """Take the next node."""
        if state.todo:
            return Act(SetLabels(*state.todo[0]), now + timedelta(seconds=state.timeout), repeatable=True)
        labelled = f"{state.done} node(s) have their labels"
        if not state.failed:
            return Done(labelled)
        why = "; ".join(f"{node}: {why}" for node, why in state.failed)
        return Done(f"{labelled}, others do not: {why}") if self.tolerant else Failed(why)

    def perform(self, effect: SetLabels, marker: Marker) -> Labelled:
        """Set the labels that are not so yet. Raises Refused for a node that Kubernetes does not have."""
        if self.nodes is None:
            raise Refused(_SYSTEM, "labels", "this worker is configured with no cluster ([kubernetes])")
        for _ in range(_ATTEMPTS):
            node = self.nodes.node(effect.node)
            if node is None:
                raise Refused(_SYSTEM, "labels", "Kubernetes does not know the node")
            changed = {key: value for key, value in effect.labels.items() if node.labels.get(key) != value}
            if self.nodes.set_labels(node, changed):
                return Labelled(changed)
        raise Unavailable(_SYSTEM, "labels", f"the node changed {_ATTEMPTS} times while its labels were set")

    def fold(
        self, state: RelabelState, asked: SetLabels, report: Labelled | PeerFailure, now: datetime
    ) -> Folded[RelabelState]:
        """Go on with the next node."""
        todo = state.todo[1:]
        if isinstance(report, PeerFailure):
            return Folded(replace(state, todo=todo, failed=(*state.failed, (asked.node, report.detail))))
        shown = ", ".join(f"{key}={value}" for key, value in sorted(report.changed.items()))
        note = Noted("Labels", f"{asked.node}: {f'set {shown}' if shown else 'all labels were set already'}")
        placed = {asked.node: state.placed[asked.node]} if asked.node in state.placed else {}
        relabelled = NodesRelabelled({asked.node: labelled(asked.labels)}, placed)
        return Folded(replace(state, todo=todo, done=state.done + 1), (note, relabelled))

    def touches(self, effect: SetLabels) -> tuple[NodeName, ...]:
        """Return the node."""
        return (effect.node,)

    def awaits(self, state: RelabelState, asked: SetLabels) -> Awaited:
        """Return Kubernetes."""
        return Awaited(_SYSTEM, f"the labels of {asked.node}")
