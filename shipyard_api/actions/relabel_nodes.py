"""relabel_nodes: give Kubernetes nodes the labels of the committed design (contract: shipyard-actions, 5.5).

A Drydock does it through its Promenade. For other provisioners the inputs hold the labels, and Kubernetes is asked
directly: labels are set and changed there, and none is removed.
"""

from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.actions.steps.relabel_nodes import RelabelNodes
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Operation
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json

RELABEL_NODES = StepId("relabel_nodes")


def definition(parts: SiteParts) -> Definition:
    """Return the steps of relabel_nodes."""
    checks, systems = parts.checks, parts.checks.systems

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        relabel: AnyStep
        if "labels" in inputs:
            relabel = RelabelNodes(RELABEL_NODES, systems.nodes)
        else:
            relabel = SiteWork(
                RELABEL_NODES,
                Operation.RELABEL_NODES,
                lambda c: c.relabel_nodes,
                checks.store,
                systems.provisioner,
                nodes=tuple(map(NodeName, inputs.get("targets", ()))),
            )
        return (*parts.validation(), relabel)

    return Definition(ActionName.RELABEL_NODES, steps)
