"""Every action that this release runs. A new one is a module and a line here."""

from collections.abc import Mapping

from shipyard_api.actions.action import Catalog, Parts
from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.node_operation import NODE_OPERATION
from shipyard_api.actions.power_cycle import POWER_CYCLE
from shipyard_api.actions.pull_design import PULL_DESIGN
from shipyard_api.actions.redeploy_server import REDEPLOY_SERVER
from shipyard_api.actions.relabel_nodes import RELABEL_NODES
from shipyard_api.actions.remove_server import REMOVE_SERVER
from shipyard_api.actions.service_server import SERVICE_SERVER
from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_steps import RetryPolicy, SiteSteps
from shipyard_api.actions.site_test import TEST_SITE
from shipyard_api.actions.software_steps import SoftwareSteps
from shipyard_api.actions.steps.teardown.part import Pace
from shipyard_api.actions.teardown_steps import TeardownSteps
from shipyard_api.actions.update_site import UPDATE_SITE
from shipyard_api.actions.update_software import UPDATE_SOFTWARE
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.definition import Definition

ACTIONS = Catalog(
    DEPLOY_SITE,
    UPDATE_SITE,
    UPDATE_SOFTWARE,
    REDEPLOY_SERVER,
    REMOVE_SERVER,
    RELABEL_NODES,
    SERVICE_SERVER,
    POWER_CYCLE,
    TEST_SITE,
    NODE_OPERATION,
    PULL_DESIGN,
)


def catalog(
    store: Store,
    designs: ActionDesigns,
    systems: Systems,
    rules: DesignRules,
    retry: RetryPolicy,
    time_scale: float = 1.0,
) -> Mapping[ActionName, Definition]:
    """Return the definition of every action. ``time_scale``: seconds here for each second of the site."""
    checks = SiteChecks(store, designs, systems, rules)
    teardown = TeardownSteps(checks, retry, Pace(time_scale))
    return ACTIONS.definitions(Parts(SiteSteps(checks, retry), SoftwareSteps(checks), teardown))
