"""What every resource has in common, and the resources that anyone may ask."""

import re
from pathlib import Path
from typing import Any

import falcon
import sqlalchemy as sa

from shipyard_api.storage import schema, tables
from shipyard_api.wiring import bootstrap
from tests.integration.api.conftest import settings
from tests.integration.api.wire import V1, Caller, Site, small_design
from tests.waiting import until


def test_health_names_the_actions_that_wait_for_another_release_and_shows_clocks(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    action = site.create_action()
    assert "X-Shipyard-Left-Alone" not in site.nobody.ask("GET", "/health").headers
    with engine.begin() as connection:
        connection.execute(tables.actions.update().values(name="upgrade_süd"))

    answer = site.nobody.ask("GET", "/health")

    assert (answer.status, answer.content) == (falcon.HTTP_204, b"")
    assert answer.headers["X-Shipyard-Left-Alone"] == f"{action} action upgrade_s\\xfcd"
    shown = until(lambda: site.nobody.ask("GET", "/health").headers.get("X-Shipyard-Clock-Skew"))
    assert re.match(r"database [+-]0\.\d s", shown)


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


def test_a_process_is_ready_without_a_worker_and_without_a_peer_that_answers(site: Site) -> None:
    def all_checks() -> list[Any]:
        found: list[Any] = site.nobody.ask("GET", "/health/ready").json["checks"]
        return found if len(found) >= 7 else []

    checks = until(all_checks)
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


PROBLEMS = {
    f"{V1}/actions/x": {"type": "urn:shipyard:error:UnknownAction", "detail": "Unknown Action: x", "retry": False},
    "/nowhere": {"type": "about:blank", "detail": "There is no address /nowhere. GET /openapi.json lists all of them"},
    "/api/v1/releases/7": {"type": "urn:shipyard:error:OwnerNotFound"},
    "/v1/nothing": {"type": "about:blank", "title": "Not Found"},
    "/v1/deploy_templates/x": {"type": "about:blank", "detail": "The API version does not allow deploy templates"},
}


def test_an_error_is_a_problem_for_callers_who_name_its_type(site: Site) -> None:
    for path, members in PROBLEMS.items():
        answer = site.admin.ask("GET", path, headers={"Accept": "application/json, application/problem+json"})

        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
        assert {name: answer.json[name] for name in members} == members
        assert answer.json["status"] == 404
        assert answer.json["instance"] == f"urn:uuid:{answer.headers['X-Shipyard-Req']}"
        assert "Accept" in answer.headers["Vary"]


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
