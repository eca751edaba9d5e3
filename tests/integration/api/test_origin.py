"""Whose request it is: the lines of the log say so, and the peers are told (contract: shipyard-rest, 1 and 14)."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.adapters.promenade import PromenadeOptions
from shipyard_api.domain.actions import ActionId
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap
from tests.integration.api.conftest import NO_FAULT, new_site, settings
from tests.integration.api.recorded import Everything
from tests.integration.api.wire import JSON, V1, YAML, Caller, Site, small_design
from tests.integration.storage.rows import empty
from tests.peer import Answer, Peer, Request, running

MARKER = "10b2a3c4-0000-4000-8000-00000000cafe"
OTHER = "20b2a3c4-0000-4000-8000-00000000cafe"
BUSY = Answer(403, {"type": "error", "message": "not now"})
FIELDS = {"request", "context_marker", "user", "method", "path", "action", "step"}


@pytest.fixture
def peer() -> Iterator[Peer]:
    """One more peer, beside Drydock."""
    with running() as scripted:
        yield scripted


def lines(log: Everything, message: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, log.lines) if line["message"] == message]


def statuses(caller: Caller, marker: str | None) -> str:
    """Ask what Drydock is asked for, and return the id of the request."""
    answer = caller.ask("GET", f"{V1}/site_statuses", headers={"X-Context-Marker": marker} if marker else None)
    return str(answer.headers["X-Shipyard-Req"])


def told(request: Request) -> tuple[str | None, str | None]:
    return request.headers.get("x-context-marker"), request.headers.get("x-end-user")


def test_a_line_of_the_log_names_the_request_and_the_marker_of_its_caller_and_so_is_drydock_told(
    site: Site, log: Everything
) -> None:
    site.drydock.on("GET /nodes", BUSY)

    requests = [statuses(site.viewer, MARKER), statuses(site.admin, OTHER), statuses(site.viewer, None)]

    asked = ((MARKER, "vic"), (OTHER, "ann"), (requests[2], "vic"))
    assert [
        tuple(line[name] for name in ("request", "context_marker", "user", "method", "path"))
        for line in lines(log, "peer in trouble")
    ] == [
        (request, marker, user, "GET", "/api/v1.0/site_statuses")
        for request, (marker, user) in zip(requests, asked, strict=True)
    ]
    assert [told(one) for one in site.drydock.asked("GET /nodes")] == list(asked)
    # Who is not known is nobody else, and between requests a line names none.
    strange = "30b2a3c4-0000-4000-8000-00000000cafe"
    site.nobody.ask("POST", f"{V1}/commitconfigdocs", headers={"X-Context-Marker": strange})
    of_nobody = [line for line in map(json.loads, log.lines) if line.get("context_marker") == strange]
    assert {line.get("user") for line in of_nobody} <= {None}
    logging.getLogger("any").warning("between")
    (line,) = lines(log, "between")
    assert not FIELDS & line.keys()


def test_all_who_judge_a_design_are_told_whose_commit_it_is(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer, peer: Peer
) -> None:
    empty(engine)
    peer.on("POST /validatedesign", NO_FAULT)
    app = bootstrap.api(settings(shared_url, drydock.url, promenade=PromenadeOptions(url=peer.url)))
    site = new_site(app, store, engine, drydock)
    site.admin.load("design", *small_design())

    site.admin.ask("POST", f"{V1}/commitconfigdocs", headers={"X-Context-Marker": MARKER.replace("-", "").upper()})

    asked = [*drydock.asked("POST /validatedesign"), *peer.asked("POST /validatedesign")]
    assert [told(one) for one in asked] == [(MARKER, "ann"), (MARKER, "ann")]


def test_deckhand_is_told_who_reads_and_who_loads(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer, peer: Peer
) -> None:
    empty(engine)
    peer.on("GET /revisions", Answer(200, "count: 0\nresults: []\n"))
    peer.on("PUT /buckets/design/documents", Answer(503))
    chosen = settings(shared_url, drydock.url, DeckhandOptions(url=peer.url))
    site = new_site(bootstrap.api(chosen), store, engine, drydock)

    site.viewer.ask("GET", f"{V1}/configdocs", headers={"X-Context-Marker": MARKER})
    site.admin.ask(
        "POST",
        f"{V1}/configdocs/design",
        body=json.dumps(small_design()[0]),
        headers={**YAML, "X-Context-Marker": OTHER},
    )

    assert {told(one) for one in peer.asked("GET /revisions")} == {(MARKER, "vic"), (OTHER, "ann")}
    assert [told(one) for one in peer.asked("PUT /buckets/design/documents")] == [(OTHER, "ann")]


def test_in_an_action_everybody_is_told_whose_it_is_and_the_log_too(
    site: Site, shared_url: str, log: Everything
) -> None:
    site.commit(*small_design())
    drydock = site.drydock
    drydock.requests.clear()
    drydock.on("GET /health", Answer(200))
    drydock.on("GET /tasks", Answer(200, []))
    drydock.on("POST /tasks", Answer(201, {"task_id": "t1"}))
    drydock.on("GET /tasks/t1", BUSY)
    created = site.admin.ask(
        "POST", f"{V1}/actions", body='{"name": "deploy_site"}', headers={**JSON, "X-Context-Marker": MARKER}
    ).json

    bootstrap.worker(settings(shared_url, drydock.url))._run(ActionId(created["id"]))

    assert created["context_marker"] == MARKER
    questions = [*drydock.asked("GET /health"), *drydock.asked("POST /validatedesign"), *drydock.asked("GET /tasks/t1")]
    assert [told(one) for one in questions] == [(MARKER, "ann")] * 3
    # A task is found again by our own marker for it (docs/adr/0007).
    (task,) = drydock.asked("POST /tasks")
    assert task.headers["x-end-user"] == "ann"
    assert task.headers["x-context-marker"] not in (MARKER, None)
    told_of = [line for line in map(json.loads, log.lines) if line.get("action") == created["id"]]
    assert {(line["context_marker"], line["user"]) for line in told_of} == {(MARKER, "ann")}
    assert {"preflight.ucp_preflight_check", "drydock_build.verify_site"} <= {line.get("step") for line in told_of}
    logging.getLogger("any").warning("afterwards")
    assert not FIELDS & lines(log, "afterwards")[0].keys()
