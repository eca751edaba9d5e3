"""Steering an action over REST (contract: shipyard-rest, 6.7): codes, texts, audit."""

from pathlib import Path
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.adapters.oslo_policy import PolicyOptions
from shipyard_api.storage import tables as t
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from tests.integration.api.conftest import settings
from tests.integration.api.wire import Caller, Site, messages, small_design


@pytest.fixture
def running(site: Site, engine: sa.Engine) -> tuple[Site, str]:
    """A site with an action that a worker has taken."""
    site.commit(*small_design())
    action = site.create_action()
    stands(engine, "running")
    return site, action


def stands(engine: sa.Engine, state: str) -> None:
    ended = sa.func.now() if state in ("success", "failed") else None
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state=state, ended_at=ended))


def control(site: Site, action: str, verb: str, **params: Any) -> Any:
    return site.admin.post(f"/actions/{action}/control/{verb}", **params)


def commands(site: Site, action: str) -> list[tuple[str, str]]:
    return [(one["command"], one["user"]) for one in site.viewer.get(f"/actions/{action}").json["command_audit"]]


def test_what_the_contract_lacks_needs_a_failure_and_is_not_audited_otherwise(
    running: tuple[Site, str], engine: sa.Engine
) -> None:
    site, action = running
    for state in ("running", "success"):
        stands(engine, state)
        for verb, done in (("retry", "retried"), ("acknowledge", "acknowledged")):
            answer = control(site, action, verb)
            cause = (
                f"Only an action that is failed or has nodes that did not succeed can be {done}; this one is {state}"
            )
            assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, f"Unable to {verb} action")
            assert (answer.json["reason"], messages(answer)[0]["message"]) == (cause, cause)
    assert commands(site, action) == [("invoke", "ann")]


def test_the_first_acknowledgement_of_a_failure_stays_and_is_shown(
    running: tuple[Site, str], engine: sa.Engine
) -> None:
    site, action = running
    stands(engine, "failed")
    version = site.viewer.get("/actions").headers["etag"]

    answers = [control(site, action, "acknowledge", reason=words) for words in ("disk is ordered", "again")]
    answers += [control(site, action, "acknowledge", reason=words) for words in ("a\u202eb", "a" * 301)]

    assert [one.status for one in answers] == [falcon.HTTP_202, falcon.HTTP_202, falcon.HTTP_400, falcon.HTTP_400]
    assert commands(site, action) == [("invoke", "ann"), ("acknowledge", "ann")]
    found = [site.viewer.get(f"/actions/{action}").json, *site.viewer.get("/actions").json]
    for one in found:
        notes = [note["note_val"] for note in one["notes"] if note["sub_type"] == "Acknowledged"]
        assert notes == ["ann has seen what failed: disk is ordered"]
    assert site.viewer.get("/actions").headers["etag"] != version
    assert site.viewer.post(f"/actions/{action}/control/acknowledge").status == falcon.HTTP_403


def test_a_retry_is_a_new_action_of_the_same_revision(running: tuple[Site, str], engine: sa.Engine) -> None:
    site, action = running
    stands(engine, "failed")

    answer = control(site, action, "retry")

    assert answer.status == falcon.HTTP_201
    assert answer.json["id"] != action
    assert answer.headers["Location"] == f"/api/v1.0/actions/{answer.json['id']}"
    assert answer.json["committed_rev_id"] == 1
    assert commands(site, answer.json["id"]) == [("invoke", "ann")]
    assert control(site, action, "retry").status == falcon.HTTP_409  # the first one has the site


def test_a_retry_takes_the_rules_of_creating_that_action(
    running: tuple[Site, str], engine: sa.Engine, shared_url: str, tmp_path: Path
) -> None:
    site, action = running
    stands(engine, "failed")
    token = ApiTokens(site.store).create("bea", "admin")[1]
    for rule in ("create_action", "action_deploy_site", "invoke_action_control"):
        file = tmp_path / f"{rule}.yaml"
        file.write_text(f'"workflow_orchestrator:{rule}": "!"\n', encoding="utf-8")
        strict = bootstrap.api(settings(shared_url, site.drydock.url, policy=PolicyOptions(str(file))))
        assert Caller(strict, token).post(f"/actions/{action}/control/retry").status == falcon.HTTP_403
    assert len(site.viewer.get("/actions").json) == 1


def test_a_retry_says_what_its_action_does_not_do(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    action = site.admin.act('{"name": "update_software", "parameters": {"releese": "x", "force": "true"}}').json["id"]
    stands(engine, "failed")

    again = control(site, action, "retry").json["id"]

    first, second = (site.viewer.get(f"/actions/{one}").json["notes"] for one in (action, again))
    assert [note["note_val"] for note in second] == [note["note_val"] for note in first]
    assert len(second) == 3
