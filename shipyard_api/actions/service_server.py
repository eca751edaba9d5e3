"""service_server: run the steps of a deploy template on servers that run (product, section 8).

Group by group of the site's strategy, restricted to the servers of the action: a group is drained, its servers run the
steps as service steps, and they join the cluster again. Success criteria and dependencies are those of a deployment.
"""

from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.actions.teardown_parts import TeardownParts
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json

CHECK_SERVICE = StepId("check_service")


def definition(parts: SiteParts, teardown: TeardownParts) -> Definition:
    """Return the steps of service_server."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        limits = TeardownLimits.from_json(inputs.get("limits", {}))
        check = teardown.check_service(CHECK_SERVICE, inputs)
        return (*parts.validation(), check, parts.drain_and_service_nodes(limits))

    return Definition(ActionName.SERVICE_SERVER, steps)
