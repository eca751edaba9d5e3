"""Whose request it is: the lines of the log say so (contract: shipyard-rest, 1)."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_api import bootstrap
from shipyard_api.domain.actions import ActionId
from tests.integration.api.conftest import settings
from tests.integration.api.test_secrets import Everything
from tests.integration.api.wire import JSON, V1, Caller, Site, small_design
from tests.peer import Answer

MARKER = "10b2a3c4-0000-4000-8000-00000000cafe"
OTHER = "20b2a3c4-0000-4000-8000-00000000cafe"
BUSY = Answer(403, {"type": "error", "message": "not now"})
FIELDS = {"request", "context_marker", "user", "method", "path", "action", "step"}


@pytest.fixture
def log() -> Iterator[Everything]:
    handler, root = Everything(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


def lines(log: Everything, message: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, log.lines) if line["message"] == message]


def statuses(caller: Caller, marker: str | None) -> str:
    """Ask what Drydock is asked for, and return the id of the request."""
    answer = caller.ask("GET", f"{V1}/site_statuses", headers={"X-Context-Marker": marker} if marker else None)
    return str(answer.headers["X-Shipyard-Req"])


def test_a_line_of_the_log_names_the_request_and_the_marker_of_its_caller(site: Site, log: Everything) -> None:
    site.drydock.on("GET /nodes", BUSY)

    requests = [statuses(site.viewer, MARKER), statuses(site.admin, OTHER), statuses(site.viewer, None)]

    assert [
        tuple(line[name] for name in ("request", "context_marker", "user", "method", "path"))
        for line in lines(log, "peer in trouble")
    ] == [
        (requests[0], MARKER, "vic", "GET", "/api/v1.0/site_statuses"),
        (requests[1], OTHER, "ann", "GET", "/api/v1.0/site_statuses"),
        (requests[2], requests[2], "vic", "GET", "/api/v1.0/site_statuses"),
    ]


def test_between_requests_a_line_names_none(site: Site, log: Everything) -> None:
    statuses(site.viewer, MARKER)
    site.nobody.get("/actions")

    logging.getLogger("any").warning("between")

    (line,) = lines(log, "between")
    assert not FIELDS & line.keys()


def test_who_is_not_known_yet_is_nobody_else(site: Site, log: Everything) -> None:
    statuses(site.admin, MARKER)

    site.nobody.ask("POST", f"{V1}/commitconfigdocs", headers={"X-Context-Marker": OTHER})

    lines_of_nobody = [line for line in map(json.loads, log.lines) if line.get("context_marker") == OTHER]
    assert {line.get("user") for line in lines_of_nobody} <= {None}


def test_in_an_action_the_log_tells_whose_it_is(site: Site, shared_url: str, log: Everything) -> None:
    site.commit(*small_design())
    drydock = site.drydock
    drydock.requests.clear()
    drydock.on("GET /health", Answer(200))
    drydock.on("POST /tasks", Answer(201, {"task_id": "t1"}))
    drydock.on("GET /tasks/t1", BUSY)
    created = site.admin.ask(
        "POST", f"{V1}/actions", body='{"name": "deploy_site"}', headers={**JSON, "X-Context-Marker": MARKER}
    ).json

    bootstrap.worker(settings(shared_url, drydock.url))._run(ActionId(created["id"]))

    assert created["context_marker"] == MARKER
    told_of = [line for line in map(json.loads, log.lines) if line.get("action") == created["id"]]
    assert {(line["context_marker"], line["user"]) for line in told_of} == {(MARKER, "ann")}
    assert {"preflight.ucp_preflight_check", "drydock_build.verify_site"} <= {line.get("step") for line in told_of}
    logging.getLogger("any").warning("afterwards")
    assert not FIELDS & lines(log, "afterwards")[0].keys()
