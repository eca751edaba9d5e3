"""Plans that are stored: signed by a second person, and an action that starts only while it does what they say."""

import json
import threading
from dataclasses import dataclass, replace
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.oslo_policy import PolicyOptions
from shipyard_api.api.mount import Mount
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.policy import WITHOUT_APPROVAL
from shipyard_api.storage import tables as t
from shipyard_api.storage.site_tables import plans
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from tests.integration.api.conftest import settings
from tests.integration.api.test_approvals import await_approval
from tests.integration.api.test_plans import ended
from tests.integration.api.test_site_nodes import members, rolled
from tests.integration.api.test_software import CHAIN, Fuel, prepared
from tests.integration.api.wire import JSON, Caller, Site, configuration, everything_said, messages, small_design
from tests.peer import Answer, Peer

DEPLOY = {"name": "deploy_site"}
LOST = tuple(rolled(members(a="n1 n2"), {"n1": NodeStatus.FAILURE}))
ALLOWED = {"allow_intermediate_commits": "true"}


def stored(caller: Caller, body: Any = DEPLOY, **params: Any) -> dict[str, Any]:
    answer = caller.post("/plans", json.dumps(body), JSON, store="true", **params)
    assert answer.status == falcon.HTTP_201, answer.text
    found: dict[str, Any] = answer.json
    assert answer.headers["Location"] == f"/api/v1.0/plans/{found['id']}"
    return found


def approve(caller: Caller, plan: dict[str, Any], **more: Any) -> Result:
    return caller.post(f"/plans/{plan['id']}/approvals", json.dumps({"hash": plan["hash"], **more}), JSON)


def act(caller: Caller, plan: dict[str, Any], body: Any = DEPLOY, key: str = "", **params: Any) -> Result:
    headers = {**JSON, **({"Idempotency-Key": key} if key else {})}
    return caller.post("/actions", json.dumps(body), headers, plan=plan["id"], **params)


@dataclass(frozen=True)
class FourEyes:
    """A site whose policy file asks for a second person. Ann and bob may start actions; bob has two tokens."""

    site: Site
    ann: Caller
    bob: Caller
    bob_again: Caller


@pytest.fixture(scope="module")
def strict(shared_url: str, drydock: Peer, tmp_path_factory: pytest.TempPathFactory) -> Mount:
    file = tmp_path_factory.mktemp("policy") / "policy.yaml"
    file.write_text(f'"{WITHOUT_APPROVAL}": "!"\n')
    return bootstrap.api(settings(shared_url, drydock.url, policy=PolicyOptions(str(file))))


@pytest.fixture
def eyes(site: Site, strict: Mount) -> FourEyes:
    site.commit(*small_design())
    ann = Caller(strict, site.admin.client.headers["X-Auth-Token"])
    bob, again = (Caller(strict, ApiTokens(site.store).create("bob", "admin_ucp")[1]) for _ in range(2))
    return FourEyes(replace(site, admin=ann), ann, bob, again)


def test_a_plan_is_stored_shown_and_listed(site: Site) -> None:
    revision = site.commit(*small_design())
    assert site.viewer.get("/plans").json == {"plans": []}
    shown = site.viewer.post("/plans", json.dumps(DEPLOY), JSON).json

    first = stored(site.admin)
    second = stored(site.admin, {"name": "update_site", "parameters": {"continue-on-fail": True}})

    assert (first["plan"], first["request"], first["last"]) == (shown, DEPLOY, None)
    assert (first["plan"]["revision"], first["stored_by"]) == (revision, "ann")
    assert (first["signatures"], first["action"]) == ([], None)
    assert first["hash"] != second["hash"]
    assert second["request"]["parameters"] == {"continue-on-fail": True}
    assert site.viewer.get(f"/plans/{first['id']}").json == first
    short = [{key: value for key, value in one.items() if key not in ("plan", "last")} for one in (second, first)]
    assert site.viewer.get("/plans").json == {"plans": short}
    assert site.viewer.get("/plans/none").status == falcon.HTTP_404
    assert site.viewer.post("/plans", json.dumps(DEPLOY), JSON, store="true").status == falcon.HTTP_403
    # Without the policy, an action starts from a plan that nobody has approved.
    made = act(site.admin, first)
    assert made.status == falcon.HTTP_201, made.text
    assert site.viewer.get(f"/plans/{first['id']}").json["action"] == made.json["id"]
    notes = site.viewer.get(f"/actions/{made.json['id']}").json["notes"]
    assert [note["note_val"] for note in notes if note["sub_type"] == "Plan"] == [
        f"plan {first['id']} (hash {first['hash']}), stored by ann"
    ]
    # A plan that would be refused is not stored; one whose first steps would fail now is, and its approvers read it.
    site.drydock.on("GET /health", Answer(403, {"message": "no such user"}))
    sick = stored(site.admin, {"name": "test_site"})
    assert sick["plan"]["refused"]["title"] == "One of the first steps would fail"
    refused = site.admin.post("/plans", json.dumps(DEPLOY), JSON, store="true")
    assert (refused.status, refused.json["message"]) == (falcon.HTTP_409, "Another site action is running")
    retry = site.admin.post("/plans", json.dumps({"retry": made.json["id"]}), JSON, store="true")
    assert retry.status == falcon.HTTP_409
    assert len(site.viewer.get("/plans").json["plans"]) == 3


def test_an_action_starts_from_a_plan_that_another_person_has_approved(eyes: FourEyes) -> None:
    plan = stored(eyes.ann)
    alone = eyes.ann.act()
    early = act(eyes.ann, plan)
    # Approvals that cannot be used change nothing.
    wrong_hash = approve(eyes.bob, {**plan, "hash": "0" * 64})
    assert (wrong_hash.status, plan["hash"] in everything_said(wrong_hash)) == (falcon.HTTP_409, True)
    for body in ({}, {"hash": 1}, {"hash": plan["hash"], "reason": "\x1b[2J"}, {"hash": plan["hash"], "approve": True}):
        answer = eyes.bob.post(f"/plans/{plan['id']}/approvals", json.dumps(body), JSON)
        assert answer.status == falcon.HTTP_400
    assert approve(eyes.site.viewer, plan).status == falcon.HTTP_403
    assert approve(eyes.bob, {**plan, "id": "0" * 26}).status == falcon.HTTP_404
    assert eyes.site.viewer.get(f"/plans/{plan['id']}").json == plan

    signed = approve(eyes.bob, plan, reason="as discussed")
    again = [approve(caller, plan, reason="once more") for caller in (eyes.bob, eyes.bob_again)]
    assert [answer.json for answer in again] == [signed.json] * 2

    assert (alone.status, early.status) == (falcon.HTTP_409,) * 2
    assert "Another person must approve what you start" in everything_said(alone)
    assert f"shipyard approve plan/{plan['id']}" in everything_said(early)
    assert signed.status == falcon.HTTP_200, signed.text
    assert [(one["by"], one["reason"]) for one in signed.json["signatures"]] == [("bob", "as discussed")]
    made = act(eyes.ann, plan)
    assert made.status == falcon.HTTP_201, made.text
    notes = eyes.site.viewer.get(f"/actions/{made.json['id']}").json["notes"]
    assert f"plan {plan['id']} (hash {plan['hash']}), stored by ann, approved by bob" in [
        note["note_val"] for note in notes
    ]


def test_nobody_approves_what_he_starts(eyes: FourEyes) -> None:
    """Neither the plan that he stored nor, for himself, the plan of another; a second token is no second person."""
    own, of_ann = stored(eyes.bob), stored(eyes.ann)

    refused = [approve(caller, own) for caller in (eyes.bob, eyes.bob_again)]
    assert approve(eyes.bob, of_ann).status == falcon.HTTP_200

    assert [answer.status for answer in refused] == [falcon.HTTP_409] * 2
    assert f"You have stored plan {own['id']}" in everything_said(refused[0])
    assert [act(caller, of_ann).status for caller in (eyes.bob, eyes.bob_again)] == [falcon.HTTP_409] * 2
    assert eyes.site.viewer.get(f"/plans/{own['id']}").json["signatures"] == []
    assert act(eyes.ann, of_ann).status == falcon.HTTP_201


def test_nobody_passes_the_wave_of_what_he_started(eyes: FourEyes, strict: Mount, engine: sa.Engine) -> None:
    plan = stored(eyes.ann)
    assert approve(eyes.bob, plan).status == falcon.HTTP_200
    action = act(eyes.ann, plan).json["id"]
    await_approval(engine)
    ann_again = Caller(strict, ApiTokens(eyes.site.store).create("ANN", "admin_ucp")[1])

    def answers(caller: Caller, *, passed: bool) -> Result:
        return caller.post(f"/actions/{action}/approvals", json.dumps({"approve": passed}), JSON)

    refused = [answers(caller, passed=True) for caller in (eyes.ann, ann_again)]
    assert [answer.status for answer in refused] == [falcon.HTTP_409] * 2
    assert f"You have started action {action}" in everything_said(refused[0])
    assert len(eyes.site.viewer.get(f"/actions/{action}/approvals").json["waiting"]) == 1
    assert answers(eyes.bob, passed=True).json["waiting"] == []


def test_an_action_that_would_do_something_else_is_refused_with_what_differs(site: Site) -> None:
    def refused(plan: dict[str, Any], *said: str) -> None:
        answer = act(site.admin, plan, **ALLOWED)
        assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, "The plan no longer holds")
        found = [one["message"] for one in messages(answer)]
        assert [one for one in said if one not in found] == [], found
        assert site.viewer.get(f"/plans/{plan['id']}").json["action"] is None
        # The approver of the next plan reads the same.
        assert stored(site.admin, **ALLOWED)["last"] == {"id": plan["id"], "differences": found}

    site.commit(*small_design())
    plan = stored(site.admin)
    ended(site, site.create_action(), *LOST)
    refused(plan, "nodes n1: was not_started, is failure.")
    plan = stored(site.admin)
    section = {"deploy_timeout": 60, "max_nodes_in_flight": 1}
    site.commit(configuration(physical_provisioner=section), *small_design(("n1", "n2", "n3"))[1:])
    refused(
        plan,
        *("revision: was 1, is 2.", "nodes n3: not_started is new."),
        *("limits deploy_nodes timeout: was 3600.0, is 60.0.", "limits max_nodes_in_flight: 1 is new."),
    )


FORCED = {"name": "deploy_site", "parameters": {"force": True}}


def test_a_hold_that_the_plan_does_not_have_refuses_although_it_may_be_overridden(site: Site) -> None:
    site.commit(*small_design())
    before = stored(site.admin, FORCED)
    body = {"reason": "new disk", "class": "no_criteria"}
    uncounted = site.admin.post("/nodes/n1/holds", json.dumps(body), JSON).json["id"]
    said = [one["message"] for one in messages(act(site.admin, before, FORCED))]
    assert said == ["holds n1: held (operator, no criteria) by ann: new disk is new."]
    assert site.admin.ask("DELETE", f"/api/v1.0/holds/{uncounted}").status == falcon.HTTP_200
    assert site.admin.post("/nodes/n1/holds", '{"reason": "new disk"}', JSON).status == falcon.HTTP_201
    overriding = stored(site.admin, FORCED)

    refused = act(site.admin, before, FORCED)

    assert refused.status == falcon.HTTP_409
    said = [one["message"] for one in messages(refused)]
    assert said == ["holds n1: held (operator) by ann: new disk is new."]
    assert act(site.admin, overriding, FORCED).status == falcon.HTTP_201


def test_another_action_and_other_parameters_are_not_what_was_planned(site: Site) -> None:
    site.commit(*small_design())
    plan = stored(site.admin)

    other = act(site.admin, plan, {"name": "update_site"})
    further = act(site.admin, plan, {"name": "deploy_site", "parameters": {"continue-on-fail": True}})

    assert (other.status, further.status) == (falcon.HTTP_409,) * 2
    assert "action name: was deploy_site, is update_site." in everything_said(other)
    assert "action parameters continue-on-fail: true is new." in everything_said(further)
    empty = site.admin.ask("POST", "/api/v1.0/actions", query="plan=", body=json.dumps(DEPLOY), headers=JSON)
    assert empty.status == falcon.HTTP_400
    assert act(site.admin, {"id": "0" * 26}).status == falcon.HTTP_404
    assert site.viewer.get("/actions").json == []


def test_the_buffer_is_planned_approved_and_committed_in_that_order(eyes: FourEyes) -> None:
    assert eyes.ann.load("design", *small_design(("n1", "n2", "n3")), buffermode="replace").status_code == 201
    plan = stored(eyes.ann, {**DEPLOY, "version": "buffer"}, **ALLOWED)
    approve(eyes.bob, plan)

    assert act(eyes.ann, plan).status == falcon.HTTP_409
    assert eyes.ann.commit().status == falcon.HTTP_200
    made = act(eyes.ann, plan, **ALLOWED)

    assert made.status == falcon.HTTP_201, made.text
    assert made.json["committed_rev_id"] == plan["plan"]["revision"] == 2


def test_a_plan_starts_one_action(eyes: FourEyes) -> None:
    """Also if the answer was lost: with its key, the request is answered with the action that it has started."""
    plan = stored(eyes.ann)
    approve(eyes.bob, plan)

    made, repeated = (act(eyes.ann, plan, key="k") for _ in range(2))
    ended(eyes.site, made.json["id"])

    assert (made.status, repeated.json["id"]) == (falcon.HTTP_201, made.json["id"])
    again = act(eyes.ann, plan)
    assert (again.status, again.json["message"]) == (falcon.HTTP_409, "Plan used before")
    assert approve(eyes.bob, plan).json["message"] == "Plan used before"
    assert act(eyes.ann, {"id": "0" * 26}, key="k").status_code == 422


def test_of_two_requests_at_once_one_starts_the_action(eyes: FourEyes) -> None:
    plan = stored(eyes.ann, {"name": "test_site"})
    approve(eyes.bob, plan)
    answers: list[Result] = []
    threads = [
        threading.Thread(target=lambda: answers.append(act(eyes.ann, plan, {"name": "test_site"}))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    assert len(eyes.site.viewer.get("/actions").json) == 1


def test_a_process_that_is_killed_leaves_both_the_action_and_the_used_plan_or_neither(
    eyes: FourEyes, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = stored(eyes.ann)
    approve(eyes.bob, plan)
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION kill_at_commit() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$"
        )
        connection.exec_driver_sql(
            "CREATE CONSTRAINT TRIGGER killed AFTER UPDATE ON plans DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION kill_at_commit()"
        )
        connection.commit()
    try:
        killed = [act(eyes.ann, plan), approve(eyes.bob, stored(eyes.ann))]
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql("DROP TRIGGER killed ON plans")
            connection.exec_driver_sql("DROP FUNCTION kill_at_commit()")
            connection.commit()

    assert [answer.status for answer in killed] == [falcon.HTTP_503] * 2
    with engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(t.actions)).scalar_one() == 0
        assert connection.execute(sa.select(plans.c.action_id)).scalars().all() == [None, None]
    assert act(eyes.ann, plan).status == falcon.HTTP_201


def test_a_retry_needs_a_plan_as_well(eyes: FourEyes) -> None:
    first = stored(eyes.ann)
    approve(eyes.bob, first)
    old = act(eyes.ann, first).json["id"]
    ended(eyes.site, old, *LOST)
    path = f"/actions/{old}/control/retry"

    alone = eyes.ann.post(path)
    plan = stored(eyes.ann, {"retry": old})
    early = eyes.ann.post(path, plan=plan["id"])
    other = eyes.ann.post(path, plan=first["id"])
    approve(eyes.bob, plan)
    made = eyes.ann.post(path, plan=plan["id"])

    assert [answer.status_code for answer in (alone, early, other, made)] == [409, 409, 409, 201]
    assert plan["last"]["id"] == first["id"]
    assert eyes.site.viewer.get(f"/plans/{plan['id']}").json["action"] == made.json["id"]


def test_a_client_of_fuel_can_name_no_plan_and_starts_no_run(eyes: FourEyes) -> None:
    admin = prepared(Fuel(eyes.ann.client))
    admin.put("releases/1/deployment_tasks", CHAIN)
    admin.post("clusters/1/assignment", [{"id": "n1", "roles": ["controller"]}])

    refused = admin.ask("PUT", "clusters/1/deploy_tasks/?nodes=n1", ["b"])

    assert refused.status_code == 409
    assert "let another person run `shipyard approve plan/ID`" in refused.text
    assert eyes.site.viewer.get("/actions").json == []
