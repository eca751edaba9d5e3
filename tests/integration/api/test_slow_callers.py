"""The rule: a stranger may hold a socket, never a thread, nor more than 64 kB; sockets of a process are bounded.

The servers here have one thread, and every slow caller is there while others are served. Nothing depends on how fast
that is: one server gives slow callers longer than any test waits, another ends them, which the tests wait for.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.yaml_stream import write_documents
from tests.factories import document
from tests.integration.api.served import Server, gunicorn
from tests.integration.storage.conftest import new_action
from tests.integration.storage.rows import counts, empty
from tests.waiting import PATIENCE

SHORT, LONG = 1.0, 600.0
CONNECTIONS = 60


def limits(seconds: float) -> dict[str, str]:
    return {
        "SHIPYARD_API_THREADS": "1",
        "SHIPYARD_API_HEAD_SECONDS": str(seconds),
        "SHIPYARD_API_BODY_SECONDS": str(seconds),
        "SHIPYARD_API_ANSWER_SECONDS": str(seconds),
        "GUNICORN_CMD_ARGS": f"--worker-connections {CONNECTIONS}",
    }


@pytest.fixture(scope="module")
def token(store: Store, engine: sa.Engine) -> str:
    empty(engine)
    _, token = ApiTokens(store).create("slow", "admin")
    return token


@pytest.fixture(scope="module")
def long_journal(engine: sa.Engine, token: str) -> None:
    """More events than the buffers of the system take."""
    with Store(engine, ProcrastinateWakeup()).begin() as tx:
        action = tx.actions.create(new_action("a_step")).id
    add = sa.text(
        "INSERT INTO journal (action_id, epoch, kind, at, worker, facts) "
        "SELECT :action, 1, 'noted', now(), 'w', json_build_object('topic', 'Test', 'text', repeat('a', 4000)) "
        "FROM generate_series(1, :number)"
    )
    with engine.begin() as connection:
        connection.execute(add, {"action": action, "number": 4000})


@pytest.fixture(scope="module")
def patient(shared_url: str, token: str) -> Iterator[Server]:
    """A server that ends no slow caller while a test runs."""
    with gunicorn(shared_url, token, **limits(LONG)) as running:
        yield running


@pytest.fixture(scope="module")
def hasty(shared_url: str, token: str) -> Iterator[Server]:
    """A server that ends slow callers soon."""
    with gunicorn(shared_url, token, **limits(SHORT)) as running:
        yield running


def kept(raw: bytes) -> bytes:
    """A request after which the connection stays open."""
    return raw.replace(b"Connection: close\r\n", b"")


def unread(server: Server, *, token: bool) -> bytes:
    """Requests for more than the buffers of the system take; strangers are told 100 kB at most."""
    path, number = ("/api/v1.0/configdocs/large", 10) if token else ("/openapi.json", 100)
    return kept(server.request(f"GET {path}", token=token)) * number


SLOW: dict[str, Callable[[Server], bytes]] = {
    "nothing": lambda _: b"",
    "half of the first line": lambda _: b"GET /vers",
    "half of the headers": lambda server: server.request("GET /versions")[:-2],
    "a request and half of the next": lambda server: (
        kept(server.request("GET /versions")) + b"GET /versions HTTP/1.1\r\nHost:"
    ),
    "a body that is not wanted": lambda server: kept(
        server.request("POST /api/v1.0/commitconfigdocs", "Content-Length: 1000\r\n", token=False)
    ),
    "chunks that are not wanted": lambda server: kept(
        server.request("POST /api/v1.0/commitconfigdocs", "Transfer-Encoding: chunked\r\n", b"ff\r\n", token=False)
    ),
    "a body that is wanted": lambda server: server.request(
        "POST /api/v1.0/configdocs/x", "Content-Length: 9\r\n", b"a"
    ),
    "a stranger who reads nothing": lambda server: unread(server, token=False),
    "a caller who reads nothing": lambda server: unread(server, token=True),
    "a listener": lambda server: server.request("GET /events"),
    "a listener who reads nothing": lambda server: server.request("GET /events?last_event_id=0"),
}


@contextmanager
def callers(server: Server, *sent: bytes) -> Iterator[list[socket.socket]]:
    """Callers whose side of the connection holds next to nothing, who have sent this and read nothing."""
    with ExitStack() as stack:
        found = []
        for one in sent:
            caller = stack.enter_context(socket.socket())
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.settimeout(PATIENCE)
            caller.connect(("127.0.0.1", server.port))
            caller.sendall(one)
            found.append(caller)
        yield found


def is_served(server: Server) -> bool:
    """Say whether a request is answered that needs the only thread."""
    return [answer.code for answer in server.send(server.request("GET /api/v1.0/actions"))] == [200]


def load_large(server: Server) -> None:
    body = write_documents([document("a/B/v1", "one", {"text": "a" * 2_000_000})])
    headers = f"Content-Length: {len(body)}\r\n"
    answers = server.send(server.request("POST /api/v1.0/configdocs/large?buffermode=replace", headers, body))
    assert [answer.code for answer in answers] == [201]


def everything(caller: socket.socket) -> bytes:
    """What comes until the server closes; fails if it does not."""
    received = bytearray()
    try:
        while piece := caller.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.mark.usefixtures("long_journal")
def test_slow_callers_of_every_kind_hold_no_thread(patient: Server) -> None:
    load_large(patient)
    with callers(patient, *[sent(patient) for sent in SLOW.values() for _ in range(3)]):
        for _ in range(5):
            assert is_served(patient)


def test_who_sends_slowly_is_ended(hasty: Server) -> None:
    kinds = [kind for kind in SLOW if kind != "a listener" and "reads nothing" not in kind]
    with callers(hasty, *(SLOW[kind](hasty) for kind in kinds)) as slow:
        received = {kind: everything(one) for kind, one in zip(kinds, slow, strict=True)}

    assert is_served(hasty)
    assert b"400 Bad Request" in received["a body that is wanted"]
    assert b"Body incomplete" in received["a body that is wanted"]


def test_a_stream_ends_with_its_last_chunk_when_the_server_stops(shared_url: str, token: str) -> None:
    with gunicorn(shared_url, token, **limits(LONG)) as server, callers(server, SLOW["a listener"](server)) as (one,):
        received = one.recv(4096)
        server.stop()
        received += everything(one)

    assert received.endswith(b"\r\n0\r\n\r\n")


def test_who_keeps_a_connection_for_the_next_request_keeps_no_server_from_ending(shared_url: str, token: str) -> None:
    kept = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    bounds = {**limits(LONG), "GUNICORN_CMD_ARGS": "--keep-alive 600 --graceful-timeout 600"}
    with gunicorn(shared_url, token, **bounds) as server, callers(server, kept, b"", kept[:9]) as (idle, new, sent):
        assert b" 204 " in idle.recv(4096)
        server.stop()
        assert (everything(idle), everything(new)) == (b"", b"")
        sent.sendall(kept[9:])
        assert b" 204 " in everything(sent)


def test_sockets_are_bounded_and_a_place_that_gets_free_is_taken(patient: Server) -> None:
    with callers(patient, *[b""] * (CONNECTIONS + 5)) as slow:
        refused = [one for one in slow[CONNECTIONS:] if everything(one) == b""]
        assert len(refused) == 5
    served = False
    while not served:  # the server hears of it a moment later
        with suppress(OSError):
            served = is_served(patient)


def test_a_request_in_many_pieces_and_two_at_once_are_answered(patient: Server) -> None:
    raw = patient.request("GET /versions")
    with callers(patient, kept(raw) + kept(raw) + raw[:7]) as (slow,):
        for start in range(7, len(raw), 3):
            slow.sendall(raw[start : start + 3])
        assert everything(slow).count(b"HTTP/1.1 200") == 3


def test_an_answer_that_was_left_lying_is_whole(patient: Server) -> None:
    (wanted,) = patient.send(patient.request("GET /openapi.json", token=False))
    last = patient.request("GET /openapi.json", token=False)

    with callers(patient, kept(last) * 39 + last) as (slow,):
        assert is_served(patient)
        received = everything(slow)

    assert received.count(wanted.body) == 40


def test_a_head_that_is_too_large_is_refused_and_not_done(patient: Server, engine: sa.Engine) -> None:
    body = write_documents([document("a/B/v1", "one", {})])
    headers = "".join(f"X-{number}: {'a' * 8000}\r\n" for number in range(70)) + f"Content-Length: {len(body)}\r\n"
    before = counts(engine)

    (answer,) = patient.send(patient.request("POST /api/v1.0/configdocs/refused", headers, body))

    assert (answer.code, answer.status["code"]) == (431, "431 Request Header Fields Too Large")
    assert answer.headers["x-shipyard-req"]
    assert is_served(patient)
    assert counts(engine) == before
