"""update_site: bring a running site to a newer design (contract: shipyard-actions, 5.2).

As deploy_site, but a provisioner that knows no machine at all stops it. Every provisioner leaves running nodes alone,
and they count as deployed.
"""

from shipyard_api.actions.site_parts import VERIFY_NODES_EXIST, SiteParts
from shipyard_api.actions.software_parts import SoftwareParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json


def definition(parts: SiteParts, software: SoftwareParts) -> Definition:
    """Return the steps of update_site."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        return (
            *parts.validation(),
            parts.verify_site(),
            parts.prepare_site(),
            parts.check(VERIFY_NODES_EXIST, parts.checks.provisioner_knows_nodes, spares=(), asks=parts.provisioner),
            parts.prepare_and_deploy_nodes(),
            *software.steps(inputs),
            parts.mark_revision(),
        )

    return Definition(ActionName.UPDATE_SITE, steps)
