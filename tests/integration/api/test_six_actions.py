"""Creating the actions other than deploy_site, and parameters that mean nothing."""

import json
from typing import Any

import falcon
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


def ask(site: Site, name: str, parameters: dict[str, Any] | None = None, **params: Any) -> Result:
    return site.admin.act(json.dumps({"name": name, "parameters": parameters or {}}), **params)


def ended(site: Site, url: str, action: str) -> str:
    """Let a worker run the action, which waits for nothing, and return how it ended."""
    site.drydock.on("GET /health", Answer(204))
    bootstrap.worker(settings(url, site.drydock.url))._run(ActionId(action))
    return str(site.viewer.get(f"/actions/{action}").json["dag_status"])


def test_a_bad_strategy_matters_only_to_what_deploys(site: Site, shared_url: str) -> None:
    """Neither when the action is created, nor when it runs; nor does one that took a secret."""
    assert ask(site, "dance").json["reason"] == "Unsupported Action: dance"
    assert site.viewer.act('{"name": "dance"}').status == falcon.HTTP_403
    circle = strategy_document(group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["a"]), name="circle")
    secret = document("deckhand/Passphrase/v1", "admin", "sesame", storagePolicy="encrypted")
    tainted = strategy_document(group_entry("a"), name="circle")
    taken = {"src": {"schema": "deckhand/Passphrase/v1", "name": "admin", "path": "."}, "dest": {"path": ".note"}}
    tainted["metadata"]["substitutions"] = [taken]
    named = configuration(physical_provisioner={"deployment_strategy": "circle"})
    allowed = {"allow_intermediate_commits": "true"}
    for strategy, found in ((circle, "DeploymentGroupCycleError"), (tainted, "SecretInDeploymentDocument")):
        site.admin.load("design", named, secret, strategy, *small_design()[1:], buffermode="replace")
        site.admin.commit(force="true")

        for name in ("deploy_site", "update_site"):
            refused = ask(site, name, **allowed)
            assert (refused.status_code, [one["name"] for one in messages(refused)]) == (400, [found])
        action = ask(site, "update_software", **allowed).json["id"]
        notes = site.viewer.get(f"/actions/{action}").json["notes"]
        assert [note["sub_type"] for note in notes] == ["action metadata", "No task graph"]
        assert "Without a task graph no software is installed" in notes[1]["note_val"]
        told = site.viewer.get(f"/actions/{action}/report").json["findings"]
        assert [one["message"] for one in told if one["name"] == "NothingToRun"] == [notes[1]["note_val"]]
        assert {note["assoc_id"] for note in notes} == {f"action/{action}"}
        assert ended(site, shared_url, action) == "success"
    assert ended(site, shared_url, ask(site, "test_site").json["id"]) == "success"


def test_what_cannot_be_done_safely_here_is_checked_and_then_refused(site: Site, engine: sa.Engine) -> None:
    without = ask(site, "test_site").json["id"]
    assert site.viewer.get(f"/actions/{without}/report").json["action"]["committed_rev_id"] is None
    revision = site.commit(*small_design())
    before = counts(engine)

    def refused(message: str, **parameters: Any) -> None:
        answer = ask(site, "redeploy_server", parameters)
        assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, message), parameters

    n1 = {"target_nodes": "n1"}
    last = {**n1, "target-revision": "last-site-action"}
    refused("Invalid target_nodes parameter")
    refused("Invalid parameters", target_nodes="r[1-4000]n[1-4000]")
    refused("Invalid parameters", **n1, force="y")
    # Drydock keeps no disks.
    refused("Invalid parameters", **n1, **{"target-revision": "committed", "preserve-local-storage": True})
    refused("Target revision not found", **last)
    site.designs.tag(Revision(revision), RevisionTag.SITE_ACTION_FAILURE.value, {})
    refused("Target revision not found", **n1)
    # What may be had needs a Kubernetes that there is not.
    for parameters in ({"server-name": "n1", "target-revision": "committed"}, last):
        assert ask(site, "redeploy_server", parameters).status == falcon.HTTP_409
    acted_on(site, revision)
    answer = ask(site, "redeploy_server", {"target_nodes": ["n1", "n2"]})
    assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, "Nothing can be drained")
    assert answer.json["reason"].startswith("n1, n2 may be in use, and no Kubernetes is configured")
    assert answer.json["retry"] is False
    way = " If it is new in a revision that failed, use target-revision=last-site-action."
    for name, newer in (("redeploy_server", way), ("relabel_nodes", "")):
        answer = ask(site, name, {"target_nodes": ["n1", "n3,n2", "nobody"]})
        assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Unknown nodes")
        assert [one["message"] for one in answer.json["details"]["messageList"]] == [
            f"Revision {revision} has no node n3.{newer}",
            f"Revision {revision} has no node nobody.{newer}",
        ]
    assert {**counts(engine), "revision_tags": 0} == {**before, "revision_tags": 0}
    # A node set is stored as the names that it stands for.
    accepted = ask(site, "relabel_nodes", {"target_nodes": "n[1-2]"})
    assert (accepted.status, accepted.json["parameters"]) == (falcon.HTTP_201, {"target_nodes": ["n1", "n2"]})
    nodes = site.viewer.get(f"/actions/{accepted.json['id']}").json["parameters"]["target_nodes"]
    assert nodes == ["n1", "n2"]


def test_a_parameter_of_another_action_refuses_unless_it_is_forced(site: Site, engine: sa.Engine) -> None:
    """One that means nothing is kept and told; asked to be strict, the API refuses it."""
    site.commit(*small_design())
    before = counts(engine)
    for value in ("n1", "", []):
        answer = ask(site, "deploy_site", {"target_nodes": value})
        assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Invalid parameters")
        assert [(one["name"], one["level"]) for one in messages(answer)] == [("MisplacedParameter", "Error")]
    meaningless = {"continue_on_fail": "true", "colour": "x"}
    strict = ask(site, "deploy_site", meaningless, strict="true")
    assert (strict.status, strict.json["message"]) == (falcon.HTTP_400, "Invalid parameters")
    assert [(one["name"], one["level"]) for one in messages(strict)] == [("UnknownParameter", "Error")] * 2
    assert strict.json["details"]["errorCount"] == 2
    assert counts(engine) == before

    answer = ask(site, "deploy_site", {**meaningless, "target_nodes": [], "force": "true"})
    told = [(one["name"], one["level"], one["error"]) for one in answer.json["warnings"]]
    unknown = ("UnknownParameter", "Warning", False)
    assert sorted(told) == [("MisplacedParameter", "Warning", False), unknown, unknown]
    assert answer.json["parameters"] == {**meaningless, "target_nodes": [], "force": "true"}
    (listed,) = site.viewer.get("/actions").json
    texts = [note["note_val"] for note in listed["notes"] if note["sub_type"] == "Parameter"]
    assert texts == [one["message"] for one in answer.json["warnings"]]
    assert [text for text in texts if text.endswith("Did you mean continue-on-fail?")] != []
    assert site.viewer.get(f"/actions/{answer.json['id']}").json["notes"] == listed["notes"]
