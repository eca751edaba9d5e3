"""relabel_nodes: give Kubernetes nodes the labels of the committed design (contract: shipyard-actions, 5.5).

A Drydock does it through its Promenade. For other provisioners the inputs hold the labels, and Kubernetes is asked
directly: labels are set and changed there, and none is removed.
"""

from collections.abc import Sequence

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.admission import (
    committed,
    design_sound,
    in_cluster,
    labels_settable,
    on_targets,
    servers_up,
    share_small,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.relabel_nodes import RelabelNodes
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.facts.nodes import NodesRelabelled
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import CONTINUES, FORCED, TARGETS
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.provisioner import Operation
from shipyard_api.workflow.step import AnyStep

_RELABEL = StepId("relabel_nodes")


def relabelling(parts: Parts, inputs: ActionInputs, nodes: Sequence[NodeName], *, tolerant: bool = False) -> AnyStep:
    """Return the step that sets the labels of nodes; ``tolerant``: the action goes on if it cannot."""
    checks, systems = parts.site.checks, parts.site.checks.systems
    if inputs.labels is not None:
        return RelabelNodes(_RELABEL, systems.nodes, tolerant=tolerant)
    return SiteWork(
        _RELABEL,
        Operation.RELABEL_NODES,
        lambda c: c.relabel_nodes,
        checks.store,
        systems.provisioner,
        nodes=tuple(nodes),
        done=() if inputs.relabelled is None else (NodesRelabelled(inputs.relabelled, inputs.placed or {}),),
        tolerant=tolerant,
    )


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    return (*parts.site.validation(), relabelling(parts, inputs, inputs.targets))


RELABEL_NODES = Action(
    name=ActionName("relabel_nodes"),
    work={NodeWork.OTHER},
    steps=_steps,
    parameters=(CONTINUES, FORCED, TARGETS),
    admission=(committed, design_sound, on_targets, servers_up, labels_settable, share_small),
    asks_peers=(in_cluster,),
    reads=DesignRules.read_configuration,
    relabels=True,
)
