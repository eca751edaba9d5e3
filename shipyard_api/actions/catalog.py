"""Every action of this release. A new one is a module and a line here."""

from collections.abc import Mapping

from shipyard_api.actions import deploy_site
from shipyard_api.actions.deploy_site import Patience
from shipyard_api.domain.actions import ActionName
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.store import Store
from shipyard_api.workflow.definition import Definition


def catalog(
    store: Store, provisioner: Provisioner, schemas: Schemas, patience: Patience
) -> Mapping[ActionName, Definition]:
    """Return the definition of every action."""
    definitions = (deploy_site.definition(store, provisioner, schemas, patience),)
    return {definition.name: definition for definition in definitions}
