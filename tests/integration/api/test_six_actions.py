"""Creating the actions other than deploy_site, and parameters that mean nothing."""

import json
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.wiring import bootstrap
from tests.factories import document, group_entry, strategy_document
from tests.integration.api.conftest import settings
from tests.integration.api.test_create_action import acted_on
from tests.integration.api.wire import Site, configuration, messages, small_design
from tests.integration.storage.rows import counts
from tests.peer import Answer

TARGETED = ("redeploy_server", "relabel_nodes")


def ask(site: Site, name: str, parameters: dict[str, Any] | None = None, **params: Any) -> Result:
    return site.admin.act(json.dumps({"name": name, "parameters": parameters or {}}), **params)


def ended(site: Site, url: str, action: str) -> str:
    """Let a worker run the action, which waits for nothing, and return how it ended."""
    site.drydock.on("GET /health", Answer(204))
    bootstrap.worker(settings(url, site.drydock.url))._run(ActionId(action))
    return str(site.viewer.get(f"/actions/{action}").json["dag_status"])


def nodes_of(name: str) -> dict[str, Any]:
    return {"target_nodes": "n1"} if name in TARGETED else {}


def test_the_report_of_a_test_without_a_revision_has_none(site: Site) -> None:
    taken = ask(site, "test_site")

    report = site.viewer.get(f"/actions/{taken.json['id']}/report").json
    assert report["action"]["committed_rev_id"] is None


@pytest.mark.parametrize(
    ("name", "code"), [("deploy_site", 400), ("update_site", 400), ("update_software", 201), ("test_site", 201)]
)
def test_a_bad_strategy_matters_only_to_what_deploys(site: Site, shared_url: str, name: str, code: int) -> None:
    """Neither when the action is created, nor when it runs."""
    circle = strategy_document(group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["a"]), name="circle")
    named = configuration(physical_provisioner={"deployment_strategy": "circle"})
    site.admin.load("design", named, circle, *small_design()[1:])
    site.admin.commit(force="true")

    answer = ask(site, name)

    assert answer.status_code == code
    if code == 201:
        assert ended(site, shared_url, answer.json["id"]) == "success"


def test_a_strategy_that_took_a_secret_matters_only_to_what_deploys(site: Site, shared_url: str) -> None:
    secret = document("deckhand/Passphrase/v1", "admin", "sesame", storagePolicy="encrypted")
    tainted = strategy_document(group_entry("a"))
    taken = {"src": {"schema": "deckhand/Passphrase/v1", "name": "admin", "path": "."}, "dest": {"path": ".note"}}
    tainted["metadata"]["substitutions"] = [taken]
    site.admin.load("design", secret, tainted, *small_design())
    site.admin.commit(force="true")

    refused, taken_up = ask(site, "deploy_site"), ask(site, "update_software")

    assert [one["name"] for one in messages(refused)] == ["SecretInDeploymentDocument"]
    assert ended(site, shared_url, taken_up.json["id"]) == "success"


def test_what_cannot_be_done_safely_here_is_checked_and_then_refused(site: Site, engine: sa.Engine) -> None:
    revision = site.commit(*small_design())
    acted_on(site, revision)
    before = counts(engine)

    answer = ask(site, "redeploy_server", {"target_nodes": ["n1", "n2"]})

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, "Nothing can be drained")
    assert answer.json["reason"].startswith("n1, n2 may be in use, and no Kubernetes is configured")
    assert answer.json["retry"] is False
    assert counts(engine) == before
    # A node set is stored as the names that it stands for.
    accepted = ask(site, "relabel_nodes", {"target_nodes": "n[1-2]"})
    assert (accepted.status, accepted.json["parameters"]) == (falcon.HTTP_201, {"target_nodes": ["n1", "n2"]})
    nodes = site.viewer.get(f"/actions/{accepted.json['id']}").json["parameters"]["target_nodes"]
    assert nodes == ["n1", "n2"]


@pytest.mark.parametrize(
    ("parameters", "tag", "message"),
    [
        pytest.param({}, None, "Invalid target_nodes parameter", id="no nodes"),
        pytest.param({"target_nodes": []}, None, "Invalid target_nodes parameter", id="an empty list"),
        pytest.param({"target_nodes": "r[1-4000]n[1-4000]"}, None, "Invalid parameters", id="a node set of too many"),
        pytest.param({"target_nodes": "n1", "force": "y"}, None, "Invalid parameters", id="a word that is no boolean"),
        pytest.param(
            {"target_nodes": "n1", "target-revision": "committed", "preserve-local-storage": True},
            None,
            "Invalid parameters",
            id="Drydock keeps no disks",
        ),
        pytest.param({"target_nodes": "n1"}, None, "Target revision not found", id="no site action succeeded"),
        pytest.param(
            {"target_nodes": "n1"}, RevisionTag.SITE_ACTION_FAILURE, "Target revision not found", id="one failed"
        ),
        pytest.param(
            {"target_nodes": "n1", "target-revision": "last-site-action"}, None, "Target revision not found", id="none"
        ),
    ],
)
def test_what_is_wrong_with_a_redeploy_is_said_before_that_it_is_not_to_be_had(
    site: Site, parameters: dict[str, Any], tag: RevisionTag | None, message: str
) -> None:
    revision = site.commit(*small_design())
    if tag:
        acted_on(site, revision, tag)

    answer = ask(site, "redeploy_server", parameters)

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, message)


@pytest.mark.parametrize(
    ("target", "tag"),
    [("committed", None), ("last-site-action", RevisionTag.SITE_ACTION_FAILURE)],
)
def test_a_redeploy_names_the_revision_that_it_needs(site: Site, target: str, tag: RevisionTag | None) -> None:
    revision = site.commit(*small_design())
    if tag:
        site.designs.tag(Revision(revision), tag.value, {})

    assert ask(site, "redeploy_server", {"server-name": "n1", "target-revision": target}).status == falcon.HTTP_409


@pytest.mark.parametrize("name", TARGETED)
def test_servers_that_the_design_does_not_have_are_named(site: Site, name: str) -> None:
    revision = site.commit(*small_design())
    acted_on(site, revision, RevisionTag.SITE_ACTION_SUCCESS)

    answer = ask(site, name, {"target_nodes": ["n1", "n3,n2", "nobody"]})

    way = " If it is new in a revision that failed, use target-revision=last-site-action."
    newer = way if name == "redeploy_server" else ""
    assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Unknown nodes")
    assert [one["message"] for one in answer.json["details"]["messageList"]] == [
        f"Revision {revision} has no node n3.{newer}",
        f"Revision {revision} has no node nobody.{newer}",
    ]


def test_a_parameter_that_means_nothing_is_kept_and_told(site: Site) -> None:
    site.commit(*small_design())

    answer = ask(site, "deploy_site", {"continue_on_fail": "true", "colour": "x"})

    assert answer.json["parameters"] == {"continue_on_fail": "true", "colour": "x"}
    told = [(one["name"], one["level"], one["error"]) for one in answer.json["warnings"]]
    assert told == [("UnknownParameter", "Warning", False)] * 2
    (listed,) = site.viewer.get("/actions").json
    texts = [note["note_val"] for note in listed["notes"] if note["sub_type"] == "Parameter"]
    assert texts == [one["message"] for one in answer.json["warnings"]]
    assert texts[0].endswith("Did you mean continue-on-fail?")
    described = site.viewer.get(f"/actions/{answer.json['id']}").json
    assert described["notes"] == listed["notes"]


@pytest.mark.parametrize("value", ["n1", "", []], ids=repr)
def test_a_parameter_of_another_action_refuses_unless_it_is_forced(
    site: Site, engine: sa.Engine, value: object
) -> None:
    site.commit(*small_design())
    before = counts(engine)

    answer = ask(site, "deploy_site", {"target_nodes": value})

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Invalid parameters")
    assert [(one["name"], one["level"]) for one in messages(answer)] == [("MisplacedParameter", "Error")]
    assert counts(engine) == before
    forced = ask(site, "deploy_site", {"target_nodes": value, "force": "true"})
    assert forced.status == falcon.HTTP_201
    assert [(one["name"], one["level"]) for one in forced.json["warnings"]] == [("MisplacedParameter", "Warning")]


def test_asked_to_be_strict_it_refuses_and_changes_nothing(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    before = counts(engine)

    answer = ask(site, "deploy_site", {"continue_on_fail": "true", "x": 1}, strict="true")

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Invalid parameters")
    assert [(one["name"], one["level"]) for one in messages(answer)] == [("UnknownParameter", "Error")] * 2
    assert answer.json["details"]["errorCount"] == 2
    assert counts(engine) == before
    assert ask(site, "deploy_site", {"continue-on-fail": "true"}, strict="true").status == falcon.HTTP_201


def test_an_action_that_does_less_than_its_name_says_so_in_a_note(site: Site) -> None:
    site.commit(*small_design())

    action = ask(site, "update_software").json["id"]

    notes = site.viewer.get(f"/actions/{action}").json["notes"]
    assert [note["sub_type"] for note in notes] == ["action metadata", "No task graph"]
    assert "Without a task graph no software is installed" in notes[1]["note_val"]
    assert {note["assoc_id"] for note in notes} == {f"action/{action}"}


def test_the_name_is_looked_at_before_the_right_to_that_action(site: Site) -> None:
    assert ask(site, "dance").json["reason"] == "Unsupported Action: dance"
    assert site.viewer.act('{"name": "dance"}').status == falcon.HTTP_403
