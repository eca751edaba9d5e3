"""What goes over the wire, and what each kind of answer means."""

from collections.abc import Callable

import pytest

from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.observing import request_context
from shipyard_api.observing.request_context import RequestContext
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, Marker
from tests.peer import Answer, Peer
from tests.unit.adapters.tokens import Tokens

JOB = JobId("1326eedd-e830-4a00-a9a9-abb518c5f016")
MARKER = Marker("7f4d4d0e-3a2f-4d57-9d1b-0a51d5c0a6f3")
THEIRS = "2b0f9b0a-8a6e-4c49-8f5d-5d8e0a6b7c11"
NO_MARKER = Marker("")
BODY = {"action": "verify_site", "design_ref": "http://d/3", "node_filter": None}
CREATED = Answer(201, {"task_id": JOB})


def said(message: str, status: int) -> Answer:
    return Answer(status, {"type": "error", "message": message, "retry": False})


BROKEN = Answer(500, {"title": "500 Internal Server Error"})


def client(url: str, **options: object) -> DrydockClient:
    tokens = Tokens()
    settings: dict[str, object] = {"token": tokens, "renew_token": tokens.renew, "read_pause": 0.0, "retry_pause": 0.0}
    return DrydockClient(url, **(settings | options))  # type: ignore[arg-type]


def test_a_task_is_created_with_the_headers_drydock_wants(peer: Peer) -> None:
    peer.on("POST /tasks", CREATED)
    with request_context.restored():
        request_context.begin(RequestContext(THEIRS, "alice"))
        assert client(peer.url).create_task(MARKER, BODY) == JOB
    [request] = peer.requests
    assert request.json == BODY
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-auth-token"] == "token-1"
    assert request.headers["x-context-marker"] == MARKER
    assert request.headers["x-end-user"] == "alice"
    assert int(request.headers["content-length"]) > 0


def test_a_question_has_the_marker_of_whom_it_is_asked_for(peer: Peer) -> None:
    peer.on("GET /nodes", Answer(200, []))
    for theirs in (
        RequestContext(THEIRS, "Zoë"),
        RequestContext(THEIRS.replace("-4c49", "-1c49"), " zoe"),
        RequestContext(),
    ):
        with request_context.restored():
            request_context.begin(theirs)
            client(peer.url).nodes()
    told = [(one.headers.get("x-context-marker"), one.headers["x-end-user"]) for one in peer.requests]
    assert told == [(THEIRS, "Zo%C3%AB"), (None, "%20zoe"), (None, "shipyard")]


def test_a_marker_that_drydock_would_drop_is_not_sent(peer: Peer) -> None:
    peer.on("POST /tasks", CREATED)
    client(peer.url).create_task(Marker("deploy:a"), BODY)
    assert "x-context-marker" not in peer.requests[0].headers


def test_a_refused_token_is_renewed_once_and_the_request_sent_once_more(peer: Peer) -> None:
    peer.on("POST /tasks", said("Unauthenticated", 401), CREATED)
    assert client(peer.url).create_task(MARKER, BODY) == JOB
    assert [one.headers["x-auth-token"] for one in peer.requests] == ["token-1", "token-2"]
    peer.on("POST /tasks", said("Unauthenticated", 401))
    with pytest.raises(Refused, match="answered 401: Unauthenticated"):
        client(peer.url).create_task(MARKER, BODY)
    assert len(peer.requests) == 4


def test_a_task_is_not_posted_once_getting_a_token_took_too_long(peer: Peer) -> None:
    with pytest.raises(Unavailable, match="getting a token took too long; nothing was sent") as caught:
        client(peer.url, begin_within=0.0).create_task(MARKER, BODY)
    assert (caught.value.sent, caught.value.marker, peer.requests) == (False, MARKER, [])


POSTED: dict[str, tuple[Answer, type[PeerError], str]] = {
    "400": (said("Unsupported action deploy_node", 400), Refused, "Unsupported action"),
    "403": (said("Forbidden", 403), Refused, "answered 403: Forbidden"),
    "404: wrong address": (Answer(404, {"title": "404 Not Found"}), Refused, "404 Not Found"),
    "405: no body": (Answer(405, b""), Refused, "answered 405 without a reason"),
    "302: a login page": (Answer(302, b"<html>"), Refused, "answered 302"),
    "408: a proxy gave up": (Answer(408, b""), Unavailable, "answered 408"),
    "429": (Answer(429, b"", {"Retry-After": "7"}), Busy, "answered 429"),
    "500": (said("Unknown error", 500), Unavailable, "whether the task was created is unknown"),
    "500: of the framework": (BROKEN, Unavailable, "500 Internal Server Error"),
    "503: even with Retry-After": (Answer(503, b"", {"Retry-After": "7"}), Unavailable, "unknown"),
    "201: not JSON": (Answer(201, b"{"), Unavailable, "no task id"),
    "201: no id": (Answer(201, {"task_id": None}), Unavailable, "no task id"),
    "201: cut short": (Answer(201, {"task_id": JOB}, cut=5), Unavailable, "POST /tasks"),
}


def test_a_task_is_posted_once_whatever_comes_back(peer: Peer) -> None:
    for title, (answer, error, told) in POSTED.items():
        peer.requests.clear()
        peer.on("POST /tasks", answer)
        with pytest.raises(error, match=told) as caught:
            client(peer.url).create_task(MARKER, BODY)
        assert type(caught.value) is error, title
        assert (caught.value.system, caught.value.marker) == ("Drydock", MARKER)
        assert getattr(caught.value, "whole_site", False) is (answer.status in (302, 403, 404, 405)), title
        assert len(peer.requests) == 1, title


Call = Callable[[DrydockClient], object]
CALLS: dict[str, tuple[str, Call]] = {
    "health": ("GET /health", lambda drydock: drydock.check_health()),
    "create": ("POST /tasks", lambda drydock: drydock.create_task(MARKER, BODY)),
    "task": (f"GET /tasks/{JOB}", lambda drydock: drydock.task(JOB)),
    "tasks": ("GET /tasks", lambda drydock: drydock.tasks(NO_MARKER)),
    "filter": ("POST /nodefilter", lambda drydock: drydock.filter_nodes("http://d/3", None)),
    "machines": ("GET /nodes", lambda drydock: drydock.machines()),
    "validate": ("POST /validatedesign", lambda drydock: drydock.validate_design("http://d/3")),
}


def test_an_answer_that_cannot_be_used_is_unavailable(peer: Peer) -> None:
    for name, (route, call) in CALLS.items():
        for answer in (Answer(200, 7), Answer(200, b"null"), BROKEN) if name != "health" else (BROKEN,):
            peer.on(route, answer)
            with pytest.raises(Unavailable):
                call(client(peer.url))
        peer.requests.clear()
        peer.on(route, said("Forbidden", 403))
        with pytest.raises(Refused, match="answered 403: Forbidden"):
            call(client(peer.url))
        if name not in ("health", "create"):
            for status in (429, 503):
                peer.on(route, Answer(status, b"", {"Retry-After": "7"}))
                with pytest.raises(Busy) as caught:
                    call(client(peer.url))
                assert caught.value.retry_after == 7
        assert len(peer.requests) == (1 if name in ("health", "create") else 3), name


def test_a_health_of_204_is_enough(peer: Peer) -> None:
    peer.on("GET /health", Answer(204, b""), Answer(503, b""))
    drydock = client(peer.url)
    drydock.check_health()
    with pytest.raises(Unavailable, match="unhealthy"):
        drydock.check_health()
    peer.on("GET /nodes", said("Unauthenticated", 401))
    with pytest.raises(Refused):  # health is for everybody, so it does not show that our token was good
        drydock.nodes()


def test_a_broken_node_filter_is_asked_again_after_a_pause_and_then_given_up(peer: Peer) -> None:
    pauses: list[float] = []
    peer.on("POST /nodefilter", BROKEN, BROKEN, Answer(200, ["n2", "n1"]), BROKEN)
    drydock = DrydockClient(peer.url, token=Tokens(), sleep=pauses.append)
    assert drydock.filter_nodes("http://d/3", None) == {"n1", "n2"}
    assert pauses == [30.0, 30.0]
    with pytest.raises(Unavailable, match="500 Internal Server Error"):
        drydock.filter_nodes("http://d/3", None)
    assert [one.json for one in peer.requests] == [{"design_ref": "http://d/3", "node_filter": None}] * 6
    peer.on("POST /nodefilter", Answer(200, ["n1", 2]))
    with pytest.raises(Unavailable):
        drydock.filter_nodes("http://d/3", None)


def test_only_drydocks_own_404_says_that_a_task_is_gone(peer: Peer) -> None:
    route = f"GET /tasks/{JOB}"
    peer.on(route, said("Task not found", 404), Answer(404, {"title": "404 Not Found"}), Answer(404, b"<html>"))
    drydock = client(peer.url)
    assert drydock.task(JOB) is None
    for _ in range(2):
        with pytest.raises(Unavailable, match="not in Drydock's format"):
            drydock.task(JOB)


def test_a_task_is_polled_without_options_and_its_errors_asked_for_by_one(peer: Peer) -> None:
    peer.on(f"GET /tasks/{JOB}", Answer(200, {"task_id": JOB}))
    drydock = client(peer.url)
    drydock.task(JOB)
    drydock.task(JOB, with_subtask_errors=True)
    assert [one.query for one in peer.asked(f"GET /tasks/{JOB}")] == [[], [("subtaskerrors", "true")]]
    peer.on("GET /tasks/..%2Fnodes%3Fx", said("no", 404))
    assert drydock.task(JobId("../nodes?x")) is None


def test_the_list_of_requested_tasks_tells_drydocks_time(peer: Peer) -> None:
    requested = {"task_id": JOB, "parent_task_id": None, "node_filter": {"names": ["é"]}}
    listed = [requested, "noise", {"task_id": "sub", "parent_task_id": JOB}, {"task_id": "old"}]
    for date, told in (
        ("Mon, 02 Mar 2026 12:00:00 -0000", "2026-03-02T12:00:00+00:00"),
        ("Mon, 02 Mar 2026 13:00:00 +0100", "2026-03-02T12:00:00+00:00"),
        ("yesterday", "None"),
        (None, "None"),
    ):
        peer.on("GET /tasks", Answer(200, listed, {"Date": date} if date else {}))
        tasks, clock = client(peer.url).tasks(NO_MARKER)
        assert tasks == [requested, {"task_id": "old"}]
        assert (clock.isoformat() if clock else "None") == told


def test_machines_are_known_by_host_name(peer: Peer) -> None:
    machines = [{"hostname": "n1", "status_name": "Ready"}, {"hostname": None}, {"status_name": "New"}]
    peer.on("GET /nodes", Answer(200, machines))
    assert client(peer.url).machines() == {"n1": "Ready"}


def test_a_node_without_build_data_has_none_if_drydock_itself_says_so(peer: Peer) -> None:
    record = {"node_name": "n1", "generator": "lshw"}
    peer.on("GET /nodes/n1/builddata", Answer(200, [record]), said("no", 404), Answer(404, b"<html>"))
    drydock = client(peer.url)
    assert [drydock.build_data("n1") for _ in range(2)] == [[record], []]
    with pytest.raises(PeerError, match="404"):
        drydock.build_data("n1")
    assert peer.requests[0].query == [("latest", "true")]


def test_an_invalid_design_is_an_answer_and_one_that_cannot_be_judged_an_error(peer: Peer) -> None:
    status = {"kind": "Status", "status": "Failure", "details": {"messageList": []}}
    peer.on("POST /validatedesign", Answer(400, status))
    assert client(peer.url).validate_design("http://d/3") == status
    assert peer.requests[0].json == {"rel": "design", "href": "http://d/3", "type": "application/x-yaml"}
    for answer, error, told in (
        (said("bad body", 400), Refused, "bad body"),
        (said("'NoneType' object has no attribute 'x'", 500), Unavailable, "could not fetch"),
        (said("Unknown error", 500), Unavailable, "POST /validatedesign: answered 500: Unknown error"),
        (said("no attribute x", 400), Refused, "POST /validatedesign: answered 400"),
    ):
        peer.on("POST /validatedesign", answer)
        with pytest.raises(error, match=told):
            client(peer.url).validate_design("http://d/3")
