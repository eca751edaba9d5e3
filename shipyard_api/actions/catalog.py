"""Every action that this release runs. A new one is a module and a line here."""

from collections.abc import Mapping

from shipyard_api.actions import (
    deploy_site,
    node_operation,
    redeploy_server,
    relabel_nodes,
    remove_server,
    service_server,
    test_site,
    update_site,
    update_software,
)
from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_parts import RetryPolicy, SiteParts
from shipyard_api.actions.software_parts import SoftwareParts
from shipyard_api.actions.steps.teardown.part import Pace
from shipyard_api.actions.teardown_parts import TeardownParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.definition import Definition


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
    parts, teardown = SiteParts(checks, retry), TeardownParts(checks, retry, Pace(time_scale))
    software = SoftwareParts(checks)
    definitions = [
        action.definition(parts, software) for action in (deploy_site, update_site, update_software, test_site)
    ]
    definitions += [
        relabel_nodes.definition(parts),
        service_server.definition(parts, teardown),
        redeploy_server.definition(parts, teardown),
        remove_server.definition(parts, teardown),
        node_operation.definition(teardown),
    ]
    return {definition.name: definition for definition in definitions}
