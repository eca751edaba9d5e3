"""Actions: creating them, and what must hold before one is accepted."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.storage import tables as t
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.integration.api.contract.steps_and_logs import LISTED
from tests.integration.api.wire import JSON, Site, configuration, messages, small_design

NOT_ALLOWED = {"allow_intermediate_commits": "false"}
ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def commit_again(site: Site, number: int) -> int:
    """Put one more revision into force."""
    site.admin.load(f"extra{number}", document("a/B/v1", f"extra{number}", {}))
    assert site.admin.commit().status == falcon.HTTP_200
    return int(site.designs.heads().head)


def acted_on(site: Site, revision: int, tag: RevisionTag = RevisionTag.SITE_ACTION_SUCCESS) -> None:
    site.designs.tag(Revision(revision), tag.value, {})


def rows(engine: sa.Engine, table: sa.TableClause) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(sa.select(sa.text("*")).select_from(table)))


def test_a_new_action_is_queued_with_its_steps_its_audit_and_a_wake_up(site: Site, engine: sa.Engine) -> None:
    revision = site.commit(*small_design())

    answer = site.admin.act('{"name": "deploy_site", "parameters": {"continue-on-fail": "true"}}')

    entity = answer.json
    assert answer.status == falcon.HTTP_201
    assert ULID.fullmatch(entity["id"])
    assert answer.headers["Location"] == f"/api/v1.0/actions/{entity['id']}"
    assert entity.pop("timestamp").replace(" ", "T") + "Z" == entity.pop("dag_execution_date")
    assert entity == {
        "id": entity["id"],
        "name": "deploy_site",
        "parameters": {"continue-on-fail": "true"},
        "user": "ann",
        "context_marker": answer.headers["X-Shipyard-Req"],
        "dag_id": "deploy_site",
        "dag_status": "SCHEDULED",
        "committed_rev_id": revision,
        "allow_intermediate_commits": None,
    }
    (job,) = rows(engine, sa.table("procrastinate_jobs"))
    assert (job.lock, job.args, job.status) == (entity["id"], {"action": entity["id"]}, "todo")
    assert len(rows(engine, t.steps)) == 10
    assert [row.command for row in rows(engine, t.command_audit)] == ["invoke"]


def test_the_list_and_the_action_agree(site: Site) -> None:
    site.commit(*small_design())
    action = site.create_action()

    (listed,) = site.viewer.get("/actions").json
    described = site.viewer.get(f"/actions/{action}").json

    assert {key: described[key] for key in listed} == listed
    assert set(described) - set(listed) == {"verdict", "waiting_for", "validations", "command_audit"}
    assert (listed["dag_status"], listed["action_lifecycle"], described["verdict"]) == ("queued", "Pending", None)
    assert [step["id"] for step in listed["steps"]] == list(LISTED)
    assert [step["index"] for step in listed["steps"]] == list(range(1, len(list(LISTED)) + 1))
    assert {step["state"] for step in listed["steps"]} == {None}
    assert listed["steps"][0]["url"] == f"/actions/{action}/steps/dag_concurrency_check"
    (audit,) = described["command_audit"]
    assert (audit["command"], audit["user"], audit["action_id"]) == ("invoke", "ann", action)
    assert listed["datetime"].replace(" ", "T").replace("+00:00", "Z") == listed["dag_execution_date"]
    for index, step in enumerate(list(LISTED), start=1):
        answer = site.viewer.get(f"/actions/{action}/steps/{step}").json
        assert (answer["task_id"], answer["index"], answer["run_id"]) == (step, index, action)
        assert re.fullmatch(r"([A-Z][a-z]+)+Operator", answer["operator"])


# --- what must hold before ------------------------------------------------------------------------------------------


def test_without_a_sound_configuration_and_strategy_nothing_continues(site: Site) -> None:
    """There would be nothing to work from, whatever the caller asks; only errors are counted."""
    strategy, old = strategy_document(group_entry("a", depends_on=["a"])), document("armada/Chart/v1", "old", {})
    for documents, name in (
        ([configuration(), strategy, old], "DeploymentGroupCycleError"),
        ([strategy_document(group_entry("a"))], "DocumentNotFoundError"),
    ):
        site.admin.load("design", layering_policy(), node_document("n1"), *documents, buffermode="replace")
        site.admin.commit(force="true")
        parameters = {"continue-on-fail": "true", "allow-intermediate-commits": "true"}
        answer = site.admin.act(json.dumps({"name": "deploy_site", "parameters": parameters}))

        assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Document validation failed")
        assert [entry["name"] for entry in messages(answer) if entry["error"]] == [name]
        assert answer.json["details"]["errorCount"] == 1


def test_commits_that_nobody_acted_on_stand_in_the_way_unless_that_is_allowed(
    site: Site, engine: sa.Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """By the query or by the parameter of the action (seed 004), of which either is enough; only site actions count."""
    acted_on(site, site.commit(*small_design()))
    commit_again(site, 1)
    commit_again(site, 2)
    forbidden = '{"name": "deploy_site", "parameters": {"allow-intermediate-commits": "false"}}'
    assert [site.admin.act(forbidden, **query).status_code for query in ({}, NOT_ALLOWED)] == [409, 409]
    assert site.admin.act().json["message"] == "Intermediate commit detected"
    assert site.viewer.get("/actions").json == []
    for query, written in (("1", None), (None, "True"), (None, True), ("False", "true")):
        with caplog.at_level("INFO"):
            allowing = {"allow_intermediate_commits": query} if query else {}
            parameters = {} if written is None else {"allow-intermediate-commits": written}
            made = site.admin.act(json.dumps({"name": "deploy_site", "parameters": parameters}), **allowing).json
        (line,) = [record for record in caplog.records if record.message == "created despite problems"]
        assert (line.intermediate, line.revision) == ([2], 3)  # type: ignore[attr-defined]  # ours
        caplog.clear()
        assert (made["committed_rev_id"], made["allow_intermediate_commits"]) == (3, True)
        (before,) = [row for row in rows(engine, t.actions) if row.id == made["id"]]
        end(engine)
    # A later commit does not change what an action works from; any site action is enough, whatever came of it.
    acted_on(site, commit_again(site, 3), RevisionTag.SITE_ACTION_FAILURE)
    commit_again(site, 4)
    (after,) = [row for row in rows(engine, t.actions) if row.id == made["id"]]
    assert (after.inputs, after.revision) == (before.inputs, before.revision)
    assert site.admin.act().status == falcon.HTTP_201


def end(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))


def test_of_ten_at_the_same_time_exactly_one_is_taken(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    start = threading.Barrier(10)

    def ask(_number: int) -> Any:
        start.wait()
        return site.admin.ask("POST", "/api/v1.0/actions", body='{"name": "deploy_site"}', headers=JSON)

    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(ask, range(10)))

    (taken,) = [answer for answer in answers if answer.status == falcon.HTTP_201]
    refused = [answer for answer in answers if answer.status == falcon.HTTP_409]
    assert len(refused) == 9
    assert all(taken.json["id"] in answer.json["reason"] for answer in refused)
    assert [row.id for row in rows(engine, t.actions)] == [taken.json["id"]]
    assert len(rows(engine, sa.table("procrastinate_jobs"))) == len(rows(engine, t.command_audit)) == 1
    refusal = site.admin.act()
    assert (refusal.status, refusal.json["message"]) == (falcon.HTTP_409, "Another site action is running")
    assert f"deploy_site {taken.json['id']} is running" in refusal.json["reason"]
    # When it has ended, the next may come; parameters come back as they were sent.
    end(engine)
    sent = {"a": [1, 2.5, -0.0, True, None, "é𝄞\u2028\x7f", {"": {}}], "force": "true"}
    second = site.admin.act(json.dumps({"name": "deploy_site", "parameters": sent})).json
    listed = site.viewer.get("/actions").json
    assert [(one["id"], one["action_lifecycle"]) for one in listed] == [
        (taken.json["id"], "Failed"),
        (second["id"], "Pending"),
    ]
    assert second["parameters"] == listed[1]["parameters"] == sent
    assert site.viewer.get(f"/actions/{taken.json['id']}").json["verdict"] == "failed"
