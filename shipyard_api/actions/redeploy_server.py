"""redeploy_server: take servers down safely and install them again (seed 004; contract: shipyard-actions, 5.4).

One batch of targets after another, by default one server: its teardown, its destruction, its deployment, until it has
joined. With ``rebuild`` nothing is destroyed: a server leaves the cluster, and the provisioner installs its system disk
again. A batch begins only when the one before it has succeeded, so that a fault hurts no further server.
"""

from collections.abc import Sequence

from shipyard_api.actions.site_parts import PREPARE_AND_DEPLOY_NODES, SiteParts
from shipyard_api.actions.teardown_parts import TeardownParts
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.targets import TARGET_GROUP
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json

CHECK_TEARDOWN = StepId("check_teardown")
DESTROY_NODES = StepId("destroy_nodes")


def definition(parts: SiteParts, teardown: TeardownParts) -> Definition:
    """Return the steps of redeploy_server."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        found: list[AnyStep] = [*parts.validation()]
        rebuild = bool(inputs.get("rebuild"))
        for number, nodes in enumerate(batches(inputs)):
            found.append(teardown.check(numbered(CHECK_TEARDOWN, number), nodes, inputs))
            if teardown.drains or not rebuild:
                found.append(teardown.nodes(numbered(DESTROY_NODES, number), nodes, inputs))
            if number == 0:
                found += [parts.verify_site(), parts.prepare_site()]
            step, group = numbered(PREPARE_AND_DEPLOY_NODES, number), numbered(TARGET_GROUP, number)
            found.append(parts.prepare_and_deploy_nodes(step, nodes, group, rebuild=rebuild))
        return tuple(found)

    return Definition(ActionName.REDEPLOY_SERVER, steps)


def batches(inputs: Json) -> Sequence[tuple[NodeName, ...]]:
    """Return the targets in the batches in which they are redeployed."""
    targets = tuple(NodeName(node) for node in inputs.get("targets", ()))
    size = inputs.get("max_parallel_nodes", 1)
    return [targets[start : start + size] for start in range(0, len(targets), size)]


def numbered(name: str, number: int) -> StepId:
    """Return the id of a step or group of this batch; scripts know the ids of the first one."""
    return StepId(name if number == 0 else f"{name}.{number + 1}")
