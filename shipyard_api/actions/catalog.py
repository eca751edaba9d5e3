"""Every action that this release runs. A new one is a module and a line here."""

from collections.abc import Mapping

from shipyard_api.actions import deploy_site, test_site, update_site, update_software
from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_parts import RetryPolicy, SiteParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.definition import Definition


def catalog(
    store: Store, designs: ActionDesigns, systems: Systems, rules: DesignRules, retry: RetryPolicy
) -> Mapping[ActionName, Definition]:
    """Return the definition of every action; one that takes servers down has none until that is safe."""
    parts = SiteParts(SiteChecks(store, designs, systems, rules), retry)
    definitions = (action.definition(parts) for action in (deploy_site, update_site, update_software, test_site))
    return {definition.name: definition for definition in definitions}
