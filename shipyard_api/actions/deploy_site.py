"""deploy_site: from a committed design to running servers (contract: shipyard-actions, 5.1; product, section 5).

The software stage is not part of this release; it will follow ``drydock_build.prepare_and_deploy_nodes``.
"""

from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition, fixed


def definition(parts: SiteParts) -> Definition:
    """Return the steps of deploy_site, in order."""
    steps = fixed(
        *parts.validation(),
        parts.verify_site(),
        parts.prepare_site(),
        parts.prepare_and_deploy_nodes(),
        parts.mark_revision(),
    )
    return Definition(ActionName.DEPLOY_SITE, steps)
