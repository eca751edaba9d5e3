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
from tests.integration.api.wire import JSON, Site, configuration, messages, small_design

ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
STEPS = [
    "dag_concurrency_check",
    "preflight",
    "preflight.ucp_preflight_check",
    "deployment_configuration",
    "validate_site_design.deckhand_validate_site_design",
    "validate_site_design.drydock_validate_site_design",
    "validate_site_design.promenade_validate_site_design",
    "drydock_build",
    "drydock_build.verify_site",
    "drydock_build.prepare_site",
    "drydock_build.prepare_and_deploy_nodes",
    "create_action_tag",
]


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


def test_parameters_come_back_as_they_were_sent(site: Site) -> None:
    site.commit(*small_design())
    sent = {"a": [1, 2.5, -0.0, True, None, "é𝄞\u2028\x7f", {"": {}}], "force": "true"}

    answer = site.admin.act(json.dumps({"name": "deploy_site", "parameters": sent}))

    assert answer.json["parameters"] == sent
    assert site.viewer.get("/actions").json[0]["parameters"] == sent


def test_the_list_and_the_action_agree(site: Site) -> None:
    site.commit(*small_design())
    action = site.create_action()

    (listed,) = site.viewer.get("/actions").json
    described = site.viewer.get(f"/actions/{action}").json

    assert {key: described[key] for key in listed} == listed
    assert set(described) - set(listed) == {"verdict", "waiting_for", "validations", "command_audit"}
    assert (listed["dag_status"], listed["action_lifecycle"], described["verdict"]) == ("queued", "Pending", None)
    assert [step["id"] for step in listed["steps"]] == STEPS
    assert [step["index"] for step in listed["steps"]] == list(range(1, len(STEPS) + 1))
    assert {step["state"] for step in listed["steps"]} == {None}
    assert listed["steps"][0]["url"] == f"/actions/{action}/steps/dag_concurrency_check"
    (audit,) = described["command_audit"]
    assert (audit["command"], audit["user"], audit["action_id"]) == ("invoke", "ann", action)
    assert listed["datetime"].replace(" ", "T").replace("+00:00", "Z") == listed["dag_execution_date"]


def test_every_listed_step_can_be_asked_for(site: Site) -> None:
    site.commit(*small_design())
    action = site.create_action()

    for index, step in enumerate(STEPS, start=1):
        answer = site.viewer.get(f"/actions/{action}/steps/{step}").json
        assert (answer["task_id"], answer["index"], answer["run_id"]) == (step, index, action)
        assert re.fullmatch(r"([A-Z][a-z]+)+Operator", answer["operator"])


@pytest.mark.parametrize("path", ["groups", "nodes"])
@pytest.mark.parametrize("action", ["01M7XV7VKPMDHXJVA7WMC7P6XP", "a" * 500])
def test_an_unknown_action_has_no_groups_and_no_nodes(site: Site, path: str, action: str) -> None:
    answer = site.viewer.get(f"/actions/{action}/{path}")

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_404, "Action not found")
    assert answer.json["reason"] == f"Unknown action {action}"


# --- what must hold before ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("documents", "name"),
    [
        pytest.param(
            [configuration(), strategy_document(group_entry("a", depends_on=["a"]))],
            "DeploymentGroupCycleError",
            id="strategy",
        ),
        pytest.param([strategy_document(group_entry("a"))], "DocumentNotFoundError", id="configuration"),
    ],
)
def test_without_a_sound_configuration_and_strategy_nothing_continues(
    site: Site, documents: list[dict[str, Any]], name: str
) -> None:
    """There would be nothing to work from, whatever the caller asks."""
    site.admin.load("design", layering_policy(), node_document("n1"), *documents)
    site.admin.commit(force="true")

    answer = site.admin.act('{"name": "deploy_site", "parameters": {"continue-on-fail": "true"}}')

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_400, "Document validation failed")
    assert [entry["name"] for entry in messages(answer) if entry["error"]] == [name]


def test_only_errors_are_counted(site: Site) -> None:
    site.admin.load(
        "design",
        *small_design(),
        document("armada/Chart/v1", "old", {}),
        strategy_document(group_entry("a", depends_on=["x"])),
    )
    site.admin.commit(force="true")

    details = site.admin.act().json["details"]

    assert (details["errorCount"], len(details["messageList"])) == (1, 2)


def test_commits_that_nobody_acted_on_stand_in_the_way(site: Site) -> None:
    site.commit(*small_design())
    commit_again(site, 1)

    answer = site.admin.act()

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, "Intermediate commit detected")
    assert site.viewer.get("/actions").json == []


def test_unless_that_is_allowed(site: Site) -> None:
    site.commit(*small_design())
    last = commit_again(site, 1)

    answer = site.admin.act(allow_intermediate_commits="1")

    assert (answer.status, answer.json["committed_rev_id"]) == (falcon.HTTP_201, last)
    assert answer.json["allow_intermediate_commits"] is True


@pytest.mark.parametrize("tag", [RevisionTag.SITE_ACTION_SUCCESS, RevisionTag.SITE_ACTION_FAILURE])
def test_only_commits_since_the_last_site_action_count(site: Site, tag: RevisionTag) -> None:
    site.commit(*small_design())
    commit_again(site, 1)
    acted_on(site, commit_again(site, 2), tag)
    commit_again(site, 3)

    assert site.admin.act().status == falcon.HTTP_201


def test_a_commit_before_the_last_one_counts_whichever_it_is(site: Site) -> None:
    acted_on(site, site.commit(*small_design()))
    commit_again(site, 1)
    commit_again(site, 2)

    assert site.admin.act().status == falcon.HTTP_409


def test_a_later_commit_does_not_change_what_the_action_works_from(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    site.create_action()
    (before,) = rows(engine, t.actions)

    commit_again(site, 1)

    (after,) = rows(engine, t.actions)
    assert (after.inputs, after.revision) == (before.inputs, before.revision)


def test_a_second_site_action_is_refused_by_the_name_of_the_first(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    first = site.create_action()

    answer = site.admin.act()

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, "Another site action is running")
    assert f"deploy_site {first} is running" in answer.json["reason"]
    assert len(rows(engine, t.actions)) == len(rows(engine, t.command_audit)) == 1
    assert len(rows(engine, sa.table("procrastinate_jobs"))) == 1


def test_when_the_first_has_ended_the_next_may_come(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    first = site.create_action()
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))

    second = site.admin.act()

    assert second.status == falcon.HTTP_201
    listed = site.viewer.get("/actions").json
    assert [(one["id"], one["action_lifecycle"]) for one in listed] == [
        (first, "Failed"),
        (second.json["id"], "Pending"),
    ]
    assert site.viewer.get(f"/actions/{first}").json["verdict"] == "failed"


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
    assert len(rows(engine, sa.table("procrastinate_jobs"))) == 1


@pytest.mark.parametrize("written", ["true", "True", True], ids=repr)
def test_the_parameter_of_the_action_allows_it_too(site: Site, written: object) -> None:
    """Seed 004: ``create action deploy_site --param allow-intermediate-commits=true``."""
    site.commit(*small_design())
    commit_again(site, 1)
    body = {"name": "deploy_site", "parameters": {"allow-intermediate-commits": written}}

    answer = site.admin.act(json.dumps(body))

    assert (answer.status, answer.json["allow_intermediate_commits"]) == (falcon.HTTP_201, True)


def test_the_query_that_every_command_line_sends_does_not_take_the_parameter_back(site: Site) -> None:
    site.commit(*small_design())
    commit_again(site, 1)
    body = {"name": "deploy_site", "parameters": {"allow-intermediate-commits": "true"}}

    assert site.admin.act(json.dumps(body), allow_intermediate_commits="False").status == falcon.HTTP_201


@pytest.mark.parametrize(("query", "code"), [({"allow_intermediate_commits": "false"}, 409), ({}, 409)])
def test_a_parameter_that_forbids_it_forbids_it(site: Site, query: dict[str, str], code: int) -> None:
    site.commit(*small_design())
    commit_again(site, 1)
    body = {"name": "deploy_site", "parameters": {"allow-intermediate-commits": "false"}}

    assert site.admin.act(json.dumps(body), **query).status_code == code


def test_what_is_let_through_is_written_to_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.commit(*small_design())
    commit_again(site, 1)
    commit_again(site, 2)

    with caplog.at_level("INFO"):
        action = site.admin.act(allow_intermediate_commits="true").json["id"]
        assert site.admin.act(allow_intermediate_commits="true").status == falcon.HTTP_409, (
            "it is let through no further"
        )

    (line,) = [record for record in caplog.records if record.message == "created despite problems"]
    assert (line.action, line.intermediate, line.revision) == (action, [1, 2], 3)  # type: ignore[attr-defined]  # ours
