"""Adopt servers: record that they have what a revision gives them, where no action of ours did it (product, 14)."""

import logging
from collections.abc import Sequence

from msgspec import Struct

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import InvalidDesign, NodesNotDeployed, RevisionNotFound, UnknownNodes
from shipyard_api.domain.findings import error, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import DESIGN, Given
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps

LOG = logging.getLogger(__name__)


class AdoptNodes(Struct, frozen=True):
    """The use case."""

    plan_steps: PlanDeploySteps
    clock: Clock

    def __call__(self, nodes: Sequence[NodeName], revision: Revision, caller: Caller) -> Sequence[NodeName]:
        """Set the records of nodes that the provisioner shows as deployed, and return them in order of name.

        May be repeated. Raises RevisionNotFound, InvalidDesign, UnknownNodes, NodesNotDeployed, and ports.errors.
        """
        names = sorted(dict.fromkeys(nodes))
        specifications = self.plan_steps.specifications
        try:
            planned = self.plan_steps(revision, names)
            if faults := errors(planned.findings):
                raise InvalidDesign(faults)
            wanted = specifications.wanted(revision, names, planned.chosen)
        except UnknownRevision as unknown:
            raise RevisionNotFound(revision) from unknown
        except RenderingFailed as failed:
            raise InvalidDesign(failed.findings) from failed
        if unknown_nodes := [node for node in names if node not in wanted]:
            raise UnknownNodes(
                [error("UnknownNode", f"Revision {revision} has no node {node}.") for node in unknown_nodes]
            )
        deployed = self.plan_steps.deployed(names)
        if missing := [node for node in names if node not in deployed]:
            shown = f"{specifications.provisioner.name} does not show it as deployed."
            raise NodesNotDeployed([error("NodeNotDeployed", f"Node {node}: {shown}") for node in missing])
        given = {
            node: Given(
                ActionId(""),
                revision,
                {**aspects, DESIGN: ""},
                provisioner=specifications.provisioner.name,
                adopted_by=caller.user,
            )
            for node, aspects in wanted.items()
        }
        with specifications.store.begin() as tx:
            tx.specifications.adopt(given, now=self.clock.now())
        LOG.info("nodes adopted", extra={"nodes": ",".join(names), "revision": revision, "user": caller.user})
        return names
