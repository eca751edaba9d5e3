"""Whether a design must say which version it is: settings [validations] (contract: shipyard-rest, 5.2, 12.3 and 13)."""

from collections.abc import Callable
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.settings import DocumentInfoOptions, Severity, ValidationOptions
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap
from tests.factories import document
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.wire import Site, messages, small_design
from tests.integration.storage.rows import empty
from tests.peer import Peer

VERSION = document("pegleg/DeploymentData/v1", "deployment-version", {"documents": {"commit": "abc"}})
MISSING = (
    "Deployment version document missing from collection. Expected document to be present with schema: "
    "pegleg/DeploymentData/v1 and name: deployment-version"
)

Sites = Callable[..., Site]


@pytest.fixture
def site_with(shared_url: str, store: Store, engine: sa.Engine, drydock: Peer) -> Sites:
    def make(**sections: Any) -> Site:
        empty(engine)
        return new_site(bootstrap.api(settings(shared_url, drydock.url, **sections)), store, engine, drydock)

    return make


@pytest.mark.parametrize("demand", [Severity.INFO, Severity.WARNING])
def test_a_load_without_a_version_is_told(site_with: Sites, demand: Severity) -> None:
    site = site_with(validations=ValidationOptions(deployment_version_create=demand))

    answer = site.admin.load("design", *small_design())

    (said,) = messages(answer)
    assert (answer.status, answer.json["status"]) == (falcon.HTTP_201, "Success")
    assert said["message"] == MISSING
    assert (said["code"], said["status"], said["level"], said["error"]) == (
        "200 OK", demand.value, demand.value.lower(), False,
    )  # fmt: skip


def test_a_load_without_a_version_can_be_refused(site_with: Sites) -> None:
    site = site_with(validations=ValidationOptions(deployment_version_create=Severity.ERROR))

    answer = site.admin.load("design", *small_design())

    assert (answer.status, answer.json["message"]) == (
        falcon.HTTP_400,
        "Deployment version document missing from collection",
    )
    assert answer.json["reason"] == "Collection rejected due to missing deployment data document"
    assert site.viewer.get("/configdocs").json == []
    site.commit(*small_design(), VERSION)
    # Whoever empties a collection need not name a version.
    assert messages(site.admin.post("/configdocs/design", empty_collection="true", buffermode="replace")) == []


@pytest.mark.parametrize("demand", list(Severity))
def test_a_commit_without_a_version(site_with: Sites, demand: Severity) -> None:
    site = site_with(validations=ValidationOptions(deployment_version_commit=demand))
    site.admin.load("design", *small_design())

    answer = site.admin.commit()

    words = {
        Severity.ERROR: "Missing required document pegleg/DeploymentData/v1",
        Severity.WARNING: "Missing recommended document pegleg/DeploymentData/v1",
        Severity.INFO: "Optional document pegleg/DeploymentData/v1 not found",
    }
    found = [(one["message"], one["level"]) for one in messages(answer) if one["name"] == "DocumentNotFoundError"]
    assert found == ([(words[demand], demand.value)] if demand in words else [])
    assert answer.status == (falcon.HTTP_400 if demand is Severity.ERROR else falcon.HTTP_200)


def test_only_an_error_keeps_an_action_from_being_created(site_with: Sites) -> None:
    warned = site_with(validations=ValidationOptions(deployment_version_commit=Severity.WARNING))
    warned.commit(*small_design())
    assert warned.admin.act().status == falcon.HTTP_201

    refused = site_with(validations=ValidationOptions(deployment_version_commit=Severity.ERROR))
    refused.admin.load("design", *small_design())
    refused.admin.commit(force="true")
    answer = refused.admin.act()
    assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Document validation failed")


def test_the_document_can_have_another_name(site_with: Sites) -> None:
    info = DocumentInfoOptions(deployment_version_name="release", deployment_version_schema="mine/Release/v1")
    site = site_with(validations=ValidationOptions(Severity.ERROR, Severity.ERROR), document_info=info)

    assert site.admin.load("design", *small_design(), VERSION).status == falcon.HTTP_400
    site.commit(*small_design(), document("mine/Release/v1", "release", {}))
