"""Transport, authentication and faults of Drydock's API."""

from typing import Any
from uuid import UUID, uuid4

import pytest
import requests

from shipyard_simulators.tests.drydock.client import BROKEN, UNKNOWN_ERROR, Drydock, StartDrydock, lists


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/versions"),
        ("GET", "/health"),
        ("GET", "/nodes"),
        ("GET", "/nowhere"),
        ("DELETE", "/nodes"),
        ("POST", "/tasks"),
        ("POST", "/nodefilter"),
    ],
)
def test_every_answer_carries_the_id_of_the_request(drydock: Drydock, method: str, path: str):
    first, second = (drydock.call(method, path).headers["X-Drydock-Req"] for _ in range(2))
    assert UUID(first) != UUID(second)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [("/tasks", 500, UNKNOWN_ERROR), ("/nodefilter", 500, BROKEN), ("/validatedesign", 400, None)],
)
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json; charset=utf-8", "{}"),
        ("application/x-yaml", "{}"),
        ("application/json", ""),
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/json", b"\xff"),
    ],
)
def test_a_body_that_is_not_read(
    drydock: Drydock, path: str, status: int, error: Any, content_type: str, body: str | bytes
):
    answer = drydock.call("POST", path, data=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert answer.json() == error if error else answer.json()["type"] == "error"


def test_unknown_paths_and_wrong_methods_are_answered_by_the_framework(drydock: Drydock):
    for method, path, title in (
        ("GET", "/nowhere", "404 Not Found"),
        ("PUT", "/tasks", "405 Method Not Allowed"),
        ("DELETE", f"/tasks/{uuid4()}", "405 Method Not Allowed"),
    ):
        answer = drydock.call(method, path)
        assert (answer.status_code, answer.json()) == (int(title[:3]), {"title": title})


def test_options_works_everywhere(drydock: Drydock):
    answer = drydock.call("OPTIONS", "/tasks")
    assert answer.status_code == 200
    assert {"GET", "POST", "DELETE"} <= set(answer.headers["Allow"].replace(" ", "").split(","))


def test_the_versions_sit_outside_of_the_api(drydock: Drydock):
    assert drydock.get("/versions") == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


def test_only_the_token_opens_a_drydock_that_was_given_one(start: StartDrydock):
    drydock = start(token="secret")
    assert drydock.call("GET", "/nodes", headers={"X-Auth-Token": "secret"}).status_code == 200
    for headers in ({}, {"X-Auth-Token": "other"}):
        answer = drydock.call("GET", "/nodes", headers=headers)
        error = {"type": "error", "message": "Unauthenticated", "retry": False}
        assert (answer.status_code, answer.json()) == (401, error)
    assert drydock.call("GET", "/health").status_code == 204
    assert drydock.call("GET", "/versions").status_code == 200


def test_an_error_before_and_after_the_effect(start: StartDrydock):
    drydock = start(
        "service: [{method: POST, path: /tasks, status: 503, first: 1},"
        " {method: POST, path: /tasks, action: error_after_effect, first: 1}]"
    )
    body = {"action": "verify_site", "design_ref": "x"}
    answers = [drydock.post("/tasks", **body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 500, 201]
    assert answers[1].json() == UNKNOWN_ERROR
    assert "X-Drydock-Req" in answers[0].headers
    assert [entry["action"] for entry in drydock.log("request_faulted")] == ["error", "error_after_effect"]
    assert len(drydock.log("task_requested")) == 2


def test_the_framework_answers_where_drydock_breaks_while_reporting(start: StartDrydock):
    drydock = start("service: [{path: /nod*, first: 2}]")
    assert drydock.call("GET", "/nodes").json() == BROKEN
    assert drydock.post("/nodefilter").json() == BROKEN


@pytest.mark.parametrize(("action", "effects"), [("drop", 0), ("drop_after_effect", 1), ("hang", 0)])
def test_a_connection_is_cut_without_an_answer(start: StartDrydock, action: str, effects: int):
    drydock = start(f"service: [{{method: POST, path: /tasks, action: {action}, first: 1, seconds: 1}}]")
    with pytest.raises(requests.ConnectionError):
        drydock.post("/tasks", action="verify_site", design_ref="x")
    assert len(drydock.log("task_requested")) == effects


def test_chance_is_the_same_in_every_run(start: StartDrydock):
    scenario = "{{seed: {}, service: [{{method: GET, path: /nodes, probability: 0.5}}]}}"
    rows = []
    for seed in (1, 1, 2):
        drydock = start(scenario.format(seed))
        rows.append([drydock.call("GET", "/nodes").status_code for _ in range(24)])
    assert rows[0] == rows[1] != rows[2]
    assert {200, 500} == set(rows[0])


def test_a_scenario_can_be_replaced_while_the_simulator_runs(start: StartDrydock):
    drydock = start("{name: bad, nodes: {n1: {prepare: fail}}}")
    assert lists(drydock.run("prepare_nodes", "n1")) == ("failure", [], ["n1"])
    refused = drydock.call("POST", "/simulator/scenario", data="nodes: {n1: {prepare: x}, n2: {}}")
    assert (refused.status_code, len(refused.json()["faults"])) == (400, 2)
    assert drydock.get("/simulator/scenario")["name"] == "bad"
    assert drydock.call("POST", "/simulator/scenario", data="{name: good, machines: {n2: Ready}}").status_code == 200
    assert lists(drydock.run("prepare_nodes", "n1")) == ("success", ["n1"], [])
    assert lists(drydock.run("deploy_nodes", "n1", "n2")) == ("success", ["n1", "n2"], [])
