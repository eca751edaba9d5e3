"""The deploy steps of nodes: what a node supports, and what a plan runs. Shipyard v1.0 has no such resource."""

from typing import Any, ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.hidden_arguments import without_secrets
from shipyard_api.api.http.threads import threaded_peer
from shipyard_api.domain.deploy_steps.planning import PlannedNodes
from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps


class NodeSteps:
    """``/nodes/{node_name}/deploy-steps``."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_deploy_steps"}

    def __init__(self, plan: PlanDeploySteps) -> None:
        self._plan = plan

    @threaded_peer
    def on_get(self, _req: falcon.Request, resp: falcon.Response, node_name: str) -> None:
        """Answer with every deploy step that the node supports, its arguments and its default priority."""
        supported = self._plan.supported(node_name)
        resp.media = {
            "node": node_name,
            "provisioner": supported.system,
            "repeats": supported.repeats,
            "steps": _supported(supported),
            "hints": list(dict.fromkeys(supported.hints.values())),
        }


def planned_entity(planned: PlannedNodes) -> dict[str, Any]:
    """Return the steps of nodes that are alike as JSON, in the order in which they run."""
    running = {(planned_step.template, planned_step.key) for planned_step in planned.steps}
    return {
        "nodes": list(planned.nodes),
        "steps": [
            {
                "interface": planned_step.interface.value,
                "step": planned_step.step,
                "args": without_secrets(planned_step.args),
                "priority": planned_step.priority,
                "template": planned_step.template,
            }
            for planned_step in planned.steps
        ],
        "disabled": [
            {"interface": step.interface.value, "step": step.step, "template": template}
            for template, step in planned.requested
            if (template, step.key) not in running and not step.priority
        ],
    }


def _supported(supported: SupportedSteps) -> list[dict[str, Any]]:
    return [
        {
            "interface": deploy_step.interface.value,
            "step": deploy_step.step,
            "priority": deploy_step.priority,
            "core": deploy_step.core,
            "allowed": deploy_step.key not in supported.disallowed,
            "args": [{"name": name, "required": needed} for name, needed in deploy_step.arguments.items()],
        }
        for deploy_step in sorted(
            supported.steps,
            key=lambda deploy_step: (-deploy_step.priority, deploy_step.interface.value, deploy_step.step),
        )
    ]
