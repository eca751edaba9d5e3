"""Callers who send or take slowly, or not at all, keep nobody else from being served.

Each test has more such callers than the server has threads, and its times are far apart: one server gives them a
minute, so what they hold up is not served within the seconds that anybody waits; another ends them after two seconds.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
import sqlalchemy as sa

from shipyard_api.storage.unit_of_work import SqlStore
from shipyard_api.usecases.tokens.manage import ApiTokens
from shipyard_api.yaml_stream import write_documents
from tests.factories import document
from tests.integration.api.served import WAIT, Server, gunicorn
from tests.integration.storage.rows import counts, empty

THREADS = 2
SHORT, LONG = 2.0, 60.0


@pytest.fixture(scope="module")
def token(store: SqlStore, engine: sa.Engine) -> str:
    empty(engine)
    _, token = ApiTokens(store).create("slow", "admin")
    return token


def limits(seconds: float) -> dict[str, str]:
    return {
        "SHIPYARD_API_THREADS": str(THREADS),
        "SHIPYARD_API_HEAD_SECONDS": str(seconds),
        "SHIPYARD_API_BODY_SECONDS": str(seconds),
        "SHIPYARD_API_ANSWER_SECONDS": str(seconds),
    }


@pytest.fixture(scope="module")
def patient(shared_url: str, token: str) -> Iterator[Server]:
    """A server that gives slow callers much longer than others are willing to wait for an answer (WAIT)."""
    with gunicorn(shared_url, token, **limits(LONG)) as running:
        yield running


@pytest.fixture(scope="module")
def hasty(shared_url: str, token: str) -> Iterator[Server]:
    """A server that is soon done with slow callers."""
    with gunicorn(shared_url, token, **limits(SHORT)) as running:
        yield running


@contextmanager
def callers(server: Server, sent: bytes, *, number: int = 4 * THREADS) -> Iterator[list[socket.socket]]:
    """Callers who have sent this and send no more, until the block ends."""
    with ExitStack() as stack:
        found = []
        for _ in range(number):
            caller = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=WAIT))
            caller.sendall(sent)
            found.append(caller)
        time.sleep(0.2)
        yield found


def is_served(server: Server) -> bool:
    return [answer.code for answer in server.send(server.request("GET /versions"))] == [200]


def everything(caller: socket.socket) -> bytes:
    """What comes until the server closes."""
    received = bytearray()
    try:
        while piece := caller.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return bytes(received)


def kept(raw: bytes) -> bytes:
    """A request after which the connection stays open."""
    return raw.replace(b"Connection: close\r\n", b"")


NO_THREAD: dict[str, Callable[[Server], bytes]] = {
    "nothing": lambda _: b"",
    "half of the first line": lambda _: b"GET /vers",
    "half of the headers": lambda server: server.request("GET /versions")[:-2],
    "a request and half of the next": lambda server: (
        kept(server.request("GET /versions")) + b"GET /versions HTTP/1.1\r\nHost:"
    ),
    "a body that nobody wants": lambda server: kept(
        server.request("POST /api/v1.0/commitconfigdocs", "Content-Length: 1000\r\n", token=False)
    ),
    "a body in chunks that nobody wants": lambda server: kept(
        server.request("POST /api/v1.0/commitconfigdocs", "Transfer-Encoding: chunked\r\n", b"ff\r\n", token=False)
    ),
    "an old request, and the answer is not waited for": lambda _: b"GET /versions HTTP/1.0\r\n\r\n",
}


@contextmanager
def trickling(slow: list[socket.socket], flags: int = 0) -> Iterator[None]:
    """Each of them sends a byte every 20 ms until the block ends, or the server is rid of it."""
    over = threading.Event()

    def trickle() -> None:
        while not over.wait(0.02):
            for one in slow:
                with suppress(OSError):
                    one.send(b"a", flags)

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("sent", NO_THREAD.values(), ids=NO_THREAD)
def test_whoever_sends_slowly_has_no_thread(patient: Server, sent: Callable[[Server], bytes]) -> None:
    """Whoever had one would have it for longer than anybody waits."""
    with callers(patient, sent(patient)) as slow, trickling(slow):
        for _ in range(5):
            assert is_served(patient)
            time.sleep(0.1)


def test_urgent_data_are_no_end_of_a_head(patient: Server) -> None:
    """RFC 9293, 3.8.5: a reader is stopped at an urgent byte, where no more can be read for the moment."""
    with callers(patient, b"GET /versions HTTP/1.1\r\nHos") as slow, trickling(slow, socket.MSG_OOB):
        for one in slow:
            one.send(b"t: a")
        for _ in range(5):
            assert is_served(patient)
            time.sleep(0.1)


@pytest.mark.parametrize("sent", NO_THREAD.values(), ids=NO_THREAD)
def test_their_connections_end(hasty: Server, sent: Callable[[Server], bytes]) -> None:
    with callers(hasty, sent(hasty), number=1) as (slow,):
        everything(slow)  # fails after the time to wait

    assert is_served(hasty)


def test_sending_a_little_now_and_then_does_not_prolong_it(hasty: Server) -> None:
    with callers(hasty, b"GET /versions HTTP/1.1\r\nX-A: ", number=1) as slow, trickling(slow):
        everything(slow[0])  # fails after the time to wait


def test_a_head_in_many_pieces_is_a_request(patient: Server) -> None:
    raw = patient.request("GET /versions")
    with callers(patient, raw[:7], number=1) as (slow,):
        for start in range(7, len(raw), 3):
            slow.sendall(raw[start : start + 3])
            time.sleep(0.002)
        assert everything(slow).startswith(b"HTTP/1.1 200")


def test_two_requests_at_once_and_a_third_in_pieces_are_all_answered(patient: Server) -> None:
    raw = kept(patient.request("GET /versions"))
    with callers(patient, raw + raw + raw[:20], number=1) as (caller,):
        caller.sendall(patient.request("GET /versions")[20:])
        assert everything(caller).count(b"HTTP/1.1 200") == 3


def test_a_body_that_does_not_come_is_ended_with_an_answer(hasty: Server) -> None:
    """Those who may send a body have a thread for it, and a time."""
    raw = hasty.request("POST /api/v1.0/configdocs/slow", "Content-Length: 1000\r\n")
    with callers(hasty, raw) as slow:
        assert is_served(hasty)
        answers = [everything(one) for one in slow]

    assert all(answer.startswith(b"HTTP/1.1 400") and b"Body incomplete" in answer for answer in answers)


@contextmanager
def who_do_not_read(server: Server, sent: bytes) -> Iterator[list[socket.socket]]:
    """Callers whose side of the connection holds as good as nothing, and who read none of it."""
    with ExitStack() as stack:
        found = []
        for _ in range(4 * THREADS):
            caller = stack.enter_context(socket.socket())
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.settimeout(WAIT)
            caller.connect(("127.0.0.1", server.port))
            caller.sendall(sent)
            found.append(caller)
        time.sleep(0.5)
        yield found


def test_strangers_who_do_not_take_their_answers_have_no_thread(patient: Server) -> None:
    """100 kB is the most that a stranger is told, again and again until no buffer of the system takes more of it."""
    raw = kept(patient.request("GET /openapi.json", token=False))

    with who_do_not_read(patient, raw * 200):
        for _ in range(5):
            assert is_served(patient)


def test_an_answer_that_was_left_lying_is_whole(patient: Server) -> None:
    raw = kept(patient.request("GET /openapi.json", token=False))
    (wanted,) = patient.send(patient.request("GET /openapi.json", token=False))

    with who_do_not_read(patient, raw * 39 + patient.request("GET /openapi.json", token=False)) as (one, *_):
        received = everything(one)

    assert received.count(b"HTTP/1.1 200") == 40
    assert received.count(wanted.body) == 40


def test_answers_that_are_not_taken_are_broken_off(hasty: Server) -> None:
    """Larger ones than are kept for anybody, for callers with a token: 2 MB each, several times."""
    body = write_documents([document("a/B/v1", "one", {"text": "a" * 2_000_000})])
    loaded = hasty.send(hasty.request("POST /api/v1.0/configdocs/large", f"Content-Length: {len(body)}\r\n", body))
    assert [answer.code for answer in loaded] == [201], loaded

    with who_do_not_read(hasty, kept(hasty.request("GET /api/v1.0/configdocs/large")) * 20) as slow:
        assert is_served(hasty)
        ended = [everything(one) for one in slow]

    assert all(len(received) < 20 * 2_000_000 for received in ended)
    (answer,) = hasty.send(hasty.request("GET /api/v1.0/configdocs/large"))
    assert len(answer.body) > 2_000_000, "who takes it gets it"


def test_a_head_without_an_end_is_refused(patient: Server) -> None:
    with callers(patient, b"GET /versions HTTP/1.1\r\n" + b"X-A: b\r\n" * 10_000, number=1) as (caller,):
        answer = everything(caller)

    assert answer.startswith(b"HTTP/1.1 431"), answer[:100]
    assert is_served(patient)


def test_what_is_refused_for_its_head_is_not_done(patient: Server, engine: sa.Engine) -> None:
    """The head has an end, and all of it and the body are there at once."""
    body = write_documents([document("a/B/v1", "one", {})])
    headers = "".join(f"X-{number}: {'a' * 8000}\r\n" for number in range(5)) + f"Content-Length: {len(body)}\r\n"
    before = counts(engine)

    answers = patient.send(patient.request("POST /api/v1.0/configdocs/refused", headers, body))

    assert [answer.code for answer in answers] == [431]
    time.sleep(0.5)  # for whoever would do it after all
    assert counts(engine) == before
