"""deploy_site: from a committed design to running servers (contract: shipyard-actions, 5.1; product, section 5).

On a site with a task graph the software stage follows, on the nodes that were deployed.
"""

from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.actions.software_parts import SoftwareParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json


def definition(parts: SiteParts, software: SoftwareParts) -> Definition:
    """Return the steps of deploy_site."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        return (
            *parts.validation(),
            parts.verify_site(),
            parts.prepare_site(),
            parts.prepare_and_deploy_nodes(),
            *software.steps(inputs),
            parts.mark_revision(),
        )

    return Definition(ActionName.DEPLOY_SITE, steps)
