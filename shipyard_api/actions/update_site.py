"""update_site: bring a running site to a newer design (contract: shipyard-actions, 5.2).

As deploy_site, but a provisioner that knows no machine at all stops it. Every provisioner leaves running nodes alone,
and they count as deployed.
"""

from dataclasses import replace

from shipyard_api.actions.action import Parts
from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.site_steps import VERIFY_NODES_EXIST
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.step import AnyStep, Json


def _steps(parts: Parts, inputs: Json) -> tuple[AnyStep, ...]:
    site = parts.site
    return (
        *site.validation(),
        site.verify_site(),
        site.prepare_site(),
        site.check(VERIFY_NODES_EXIST, site.checks.provisioner_knows_nodes, spares=(), asks=site.provisioner),
        site.prepare_and_deploy_nodes(),
        *parts.software.steps(inputs, deploys=True),
        site.mark_revision(),
    )


UPDATE_SITE = replace(DEPLOY_SITE, name=ActionName("update_site"), steps=_steps)
