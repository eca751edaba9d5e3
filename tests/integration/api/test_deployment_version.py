"""Whether a design must say which version it is: settings [validations] (contract: shipyard-rest, 5.2, 12.3 and 13)."""

import falcon
import sqlalchemy as sa

from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import DocumentInfoOptions, Severity, ValidationOptions
from tests.factories import document
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.wire import messages, small_design
from tests.integration.storage.rows import empty
from tests.peer import Peer


def test_the_document_can_have_another_name_and_who_empties_a_collection_need_not_name_it(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer
) -> None:
    """What is told and what is refused is in the wire cases of loads, commits and actions."""
    empty(engine)
    info = DocumentInfoOptions(deployment_version_name="release", deployment_version_schema="mine/Release/v1")
    demands = ValidationOptions(Severity.ERROR, Severity.ERROR)
    own = settings(shared_url, drydock.url, validations=demands, document_info=info)
    site = new_site(bootstrap.api(own), store, engine, drydock)
    usual = document("pegleg/DeploymentData/v1", "deployment-version", {"documents": {"commit": "abc"}})

    assert site.admin.load("design", *small_design(), usual).status == falcon.HTTP_400
    site.commit(*small_design(), document("mine/Release/v1", "release", {}))
    assert messages(site.admin.post("/configdocs/design", empty_collection="true", buffermode="replace")) == []
