"""Every action of this release. A new one is a module and a line here."""

from collections.abc import Mapping

from shipyard_api.actions import deploy_site
from shipyard_api.actions.deploy_site import Designs, Patience, Systems
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.store import Store
from shipyard_api.workflow.definition import Definition


def catalog(
    store: Store, designs: Designs, systems: Systems, rules: DesignRules, patience: Patience
) -> Mapping[ActionName, Definition]:
    """Return the definition of every action."""
    definitions = (deploy_site.definition(store, designs, systems, rules, patience),)
    return {definition.name: definition for definition in definitions}
