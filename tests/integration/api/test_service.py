"""What every resource has in common, and the resources that anyone may ask."""

import re
import time
import uuid
from pathlib import Path
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.storage import schema, tables
from shipyard_api.storage.actions import Actions
from shipyard_api.wiring import bootstrap
from tests.integration.api import description
from tests.integration.api.conftest import settings
from tests.integration.api.wire import JSON, V1, Caller, Site, small_design

OPEN = ["/versions", "/health", "/health/live", "/health/ready", "/openapi.json", f"{V1}/health"]


def test_versions(site: Site) -> None:
    answer = site.nobody.ask("GET", "/versions")

    assert answer.status == falcon.HTTP_200
    assert answer.json == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", ["/health", f"{V1}/health"])
def test_health_is_204_without_a_body(site: Site, path: str) -> None:
    answer = site.nobody.ask("GET", path)

    assert (answer.status, answer.content) == (falcon.HTTP_204, b"")


def test_health_names_the_actions_that_wait_for_another_release(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    action = site.admin.post("/actions", '{"name": "deploy_site"}', JSON).json["id"]
    assert "X-Shipyard-Left-Alone" not in site.nobody.ask("GET", "/health").headers
    with engine.begin() as connection:
        connection.execute(tables.actions.update().values(name="upgrade_süd"))

    answer = site.nobody.ask("GET", "/health")

    assert (answer.status, answer.content) == (falcon.HTTP_204, b"")
    assert answer.headers["X-Shipyard-Left-Alone"] == f"{action} action upgrade_s\\xfcd"


def test_health_is_503_on_a_schema_of_another_release(site: Site, engine: sa.Engine) -> None:
    replace = sa.text("UPDATE alembic_version SET version_num = :version")
    with engine.begin() as connection:
        connection.execute(replace, {"version": "9999"})
        connection.exec_driver_sql("COMMENT ON TABLE alembic_version IS '9999'")
    try:
        answer = site.nobody.ask("GET", "/health")
        ready = site.nobody.ask("GET", "/health/ready")
    finally:
        with engine.begin() as connection:
            connection.execute(replace, {"version": schema.NEWEST})

    assert (answer.status, answer.json["message"], answer.json["retry"]) == (
        falcon.HTTP_503,
        "Unsuitable database",
        False,
    )
    assert f"has schema 9999, and this release knows only {schema.supported()}" in answer.json["reason"]
    assert ready.status == falcon.HTTP_503
    assert f"{ready.json['checks'][0]['detail']}." == answer.json["reason"]


def test_health_shows_clocks_once_they_are_read(site: Site) -> None:
    deadline = time.monotonic() + 30
    while (shown := site.nobody.ask("GET", "/health").headers.get("X-Shipyard-Clock-Skew")) is None:
        assert time.monotonic() < deadline

    assert re.match(r"database [+-]0\.\d s", shown)


def test_a_process_is_ready_without_a_worker_and_without_a_peer_that_answers(site: Site) -> None:
    deadline = time.monotonic() + 30
    while len(checks := site.nobody.ask("GET", "/health/ready").json["checks"]) < 7:
        assert time.monotonic() < deadline

    assert site.nobody.ask("GET", "/health/live").status == falcon.HTTP_204
    assert {one["name"]: (one["status"], one["critical"]) for one in checks} == {
        "database": ("ok", True),
        "replication": ("ok", False),
        "history": ("ok", False),
        "queue": ("ok", False),
        "workers": ("failed", False),
        "Drydock": ("failed", False),
        "clocks": ("ok", False),
    }


@pytest.mark.parametrize("path", [*OPEN, f"{V1}/actions", "/nowhere"])
def test_every_answer_has_a_request_id_of_its_own(site: Site, path: str) -> None:
    ids = [site.nobody.ask("GET", path).headers["X-Shipyard-Req"] for _ in range(2)]

    assert ids[0] != ids[1]
    assert [str(uuid.UUID(one)) for one in ids] == ids


@pytest.mark.parametrize("verbosity", ["0", "1", "5", ""])
def test_verbosity_is_taken_by_every_resource(site: Site, verbosity: str) -> None:
    for path in [*OPEN, f"{V1}/actions", f"{V1}/configdocs"]:
        answer = site.viewer.ask("GET", path, query=f"verbosity={verbosity}")
        assert answer.status_code in (200, 204), path


@pytest.mark.parametrize("verbosity", ["6", "-1", "+1", "1.0", "x", "01", "%D9%A3", "1%00", "99999999999999999999"])
@pytest.mark.parametrize("path", [*OPEN, f"{V1}/actions", "/nowhere"])
def test_a_wrong_verbosity_is_found_before_address_and_token(site: Site, path: str, verbosity: str) -> None:
    answer = site.nobody.ask("GET", path, query=f"verbosity={verbosity}")

    assert answer.status == falcon.HTTP_400
    assert answer.json["message"] == "Invalid verbosity parameter"
    assert answer.json["reason"] == "If specified, verbosity parameter should be a value from 0 to 5"


def test_an_unknown_address_is_a_404_in_the_shape_of_all_errors(site: Site) -> None:
    answer = site.nobody.get("/nowhere")

    assert answer.status == falcon.HTTP_404
    assert answer.json == {
        "kind": "status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Failure",
        "message": None,
        "reason": "404 Not Found",
        "details": {
            "errorType": "HTTPRouteNotFound",
            "errorCount": 1,
            "messageList": [
                {
                    "message": "There is no address /api/v1.0/nowhere. The nearest is /api/v1.0/nodes. "
                    "GET /openapi.json lists all of them",
                    "error": True,
                }
            ],
        },
        "code": "404 Not Found",
        "retry": False,
    }


def test_outside_the_versioned_address_space_there_is_no_api_version(site: Site) -> None:
    assert site.nobody.ask("GET", "/nowhere").json["apiVersion"] == "N/A"
    assert site.nobody.ask("POST", "/versions").json["apiVersion"] == "N/A"


@pytest.mark.parametrize(
    ("path", "code", "members"),
    [
        pytest.param(
            f"{V1}/actions/x",
            404,
            {"type": "urn:shipyard:error:UnknownAction", "detail": "Unknown Action: x", "retry": False},
            id="ours",
        ),
        pytest.param("/nowhere", 404, {"type": "about:blank", "title": "Not Found"}, id="the framework's"),
        pytest.param("/api/v1/releases/7", 404, {"type": "urn:shipyard:error:OwnerNotFound"}, id="Fuel's"),
    ],
)
def test_an_error_is_a_problem_for_callers_who_name_its_type(
    site: Site, path: str, code: int, members: dict[str, str]
) -> None:
    answer = site.admin.ask("GET", path, headers={"Accept": "application/json, application/problem+json"})

    assert (answer.status_code, answer.headers["Content-Type"]) == (code, "application/problem+json")
    assert {name: answer.json[name] for name in members} == members
    assert answer.json["status"] == code
    assert answer.json["instance"] == f"urn:uuid:{answer.headers['X-Shipyard-Req']}"
    assert "Accept" in answer.headers["Vary"]


@pytest.mark.parametrize(("method", "path", "operation"), list(description.airship_operations()))
def test_options_lists_the_methods_to_anyone(site: Site, method: str, path: str, operation: dict[str, Any]) -> None:
    answer = site.nobody.ask("OPTIONS", path.replace("{", "").replace("}", ""))

    assert (answer.status, answer.content) == (falcon.HTTP_200, b"")
    allowed = answer.headers["Allow"].split(", ")
    assert allowed == sorted(allowed)
    assert {method, "OPTIONS"} <= set(allowed)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD"])
@pytest.mark.parametrize("path", [f"{V1}/actions", f"{V1}/commitconfigdocs", "/versions"])
def test_another_method_is_a_405_that_says_which_there_are(site: Site, method: str, path: str) -> None:
    answer = site.admin.ask(method, path)

    assert answer.status == falcon.HTTP_405
    assert "OPTIONS" in answer.headers["Allow"]
    if method != "HEAD":
        assert answer.json["code"] == falcon.HTTP_405


def test_a_trailing_slash_is_an_empty_id(site: Site) -> None:
    answer = site.viewer.get("/actions/")

    assert (answer.status, answer.json["reason"]) == (falcon.HTTP_404, "Unknown Action: ")


MARKER = "a13b0122-0885-4745-84e9-39d1ce42b025"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(MARKER, id="as it is"),
        pytest.param(MARKER.upper(), id="upper case"),
        pytest.param(MARKER.replace("-", ""), id="without dashes"),
        pytest.param(f"{{{MARKER}}}", id="in braces"),
        pytest.param(f"urn:uuid:{MARKER}", id="urn"),
    ],
)
def test_the_marker_of_the_caller_is_kept_with_the_action(site: Site, sent: str) -> None:
    site.commit(*small_design())
    body = '{"name": "deploy_site"}'

    answer = site.admin.post("/actions", body, JSON | {"X-Context-Marker": sent})

    assert answer.json["context_marker"] == MARKER
    assert site.viewer.get("/actions").json[0]["context_marker"] == MARKER
    assert answer.headers["X-Shipyard-Req"] != MARKER


@pytest.mark.parametrize("sent", ["", "me", "0" * 31, "0" * 33, "a" * 5000, "'; DROP TABLE actions; --"])
def test_any_other_marker_is_replaced_by_the_request_id(site: Site, sent: str) -> None:
    site.commit(*small_design())
    body = '{"name": "deploy_site"}'

    answer = site.admin.post("/actions", body, JSON | {"X-Context-Marker": sent})

    assert answer.json["context_marker"] == answer.headers["X-Shipyard-Req"]


def test_without_its_database_the_service_says_so_and_invites_to_ask_again(tmp_path: Path) -> None:
    gone = Caller(bootstrap.api(settings("postgresql://nobody@127.0.0.1:9/none")), "a token")

    ready = gone.ask("GET", "/health/ready")
    assert (ready.status, ready.json["status"]) == (falcon.HTTP_503, "unready")
    database = {"name": "database", "status": "failed", "critical": True, "detail": "it does not answer"}
    assert ready.json["checks"][0] == database
    assert gone.ask("GET", "/health/live").status == falcon.HTTP_204
    for answer in (gone.ask("GET", "/health"), gone.get("/actions"), gone.commit()):
        assert answer.status == falcon.HTTP_503
        assert (answer.json["message"], answer.json["retry"]) == ("No database connection", True)
        assert answer.json["details"]["errorType"] == "DatabaseError"
        assert "127.0.0.1" not in answer.text
    assert gone.get("/health").status == falcon.HTTP_204
    assert gone.ask("GET", "/versions").status == falcon.HTTP_200


def test_a_bug_is_a_500_that_gives_nothing_away(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_self: Actions, *_arguments: Any) -> None:
        raise RuntimeError("the password is swordfish")

    for question in ("version", "described"):
        monkeypatch.setattr(Actions, question, broken)
    answer = site.viewer.client.simulate_get(f"{V1}/actions/x")

    assert answer.status == falcon.HTTP_500
    assert answer.json["message"] == "Unhandled Exception raised: RuntimeError"
    assert answer.json["retry"] is True
    assert answer.headers["X-Shipyard-Req"]
    assert "swordfish" not in answer.text
