"""update_site: bring a site that runs to a newer design (contract: shipyard-actions, 5.2).

As deploy_site, but a provisioner that knows no machine at all stops it. Nodes that run already are left alone by every
provisioner, and count as deployed.
"""

from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition


def definition(parts: SiteParts) -> Definition:
    """Return the steps of update_site, in order."""
    return Definition(
        ActionName.UPDATE_SITE,
        (
            parts.is_alone(),
            parts.is_provisioner_healthy(),
            parts.is_site_configured(),
            parts.are_documents_sound(),
            parts.does_provisioner_accept(),
            parts.does_promenade_accept(),
            parts.verify_site(),
            parts.prepare_site(),
            parts.does_provisioner_know_nodes(),
            parts.prepare_and_deploy_nodes(),
            parts.mark_revision(),
        ),
    )
