"""Callers who send or take slowly, or not at all, keep nobody else from being served.

Each test has more such callers than the server has threads, and its times are far apart: what a slow caller could hold
up would be held up for ever, and what ends them, ends them within seconds.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
import sqlalchemy as sa

from shipyard_api.storage.unit_of_work import SqlStore
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api.served import WAIT, Server, gunicorn
from tests.integration.storage.rows import empty

THREADS = 2
HEAD_SECONDS, BODY_SECONDS, ANSWER_SECONDS = 2.0, 2.0, 2.0


@pytest.fixture(scope="module")
def server(shared_url: str, store: SqlStore, engine: sa.Engine) -> Iterator[Server]:
    empty(engine)
    _, token = ApiTokens(store).create("slow", "admin")
    with gunicorn(
        shared_url,
        token,
        SHIPYARD_API_THREADS=str(THREADS),
        SHIPYARD_API_HEAD_SECONDS=str(HEAD_SECONDS),
        SHIPYARD_API_BODY_SECONDS=str(BODY_SECONDS),
        SHIPYARD_API_ANSWER_SECONDS=str(ANSWER_SECONDS),
    ) as running:
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


NO_THREAD: dict[str, Callable[[Server], bytes]] = {
    "nothing": lambda _: b"",
    "half of the first line": lambda _: b"GET /vers",
    "half of the headers": lambda server: server.request("GET /versions")[:-2],
    "a request and half of the next": lambda server: (
        server.request("GET /versions").replace(b"Connection: close\r\n", b"") + b"GET /versions HTTP/1.1\r\nHost:"
    ),
    "a body that nobody wants": lambda server: server.request(
        "POST /api/v1.0/commitconfigdocs", "Content-Length: 1000\r\n", token=False
    ).replace(b"Connection: close\r\n", b""),
    "an old request, and the answer is not waited for": lambda _: b"GET /versions HTTP/1.0\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_THREAD.values(), ids=NO_THREAD)
def test_whoever_sends_slowly_has_no_thread(server: Server, sent: Callable[[Server], bytes]) -> None:
    """None of them is ended before others are served: that takes a second, and their time is longer."""
    with callers(server, sent(server)) as slow:
        began = time.monotonic()
        for _ in range(3):
            assert is_served(server)
            for one in slow:
                trickle(one)
        assert time.monotonic() - began < HEAD_SECONDS


def trickle(caller: socket.socket) -> None:
    with suppress(OSError):  # the server may be rid of this one
        caller.send(b"a")


@pytest.mark.parametrize("sent", NO_THREAD.values(), ids=NO_THREAD)
def test_their_connections_end(server: Server, sent: Callable[[Server], bytes]) -> None:
    with callers(server, sent(server), number=1) as (slow,):
        everything(slow)  # fails after the time to wait

    assert is_served(server)


def test_sending_a_little_now_and_then_does_not_prolong_it(server: Server) -> None:
    with callers(server, b"GET /versions HTTP/1.1\r\nX-A: ", number=1) as (slow,):
        slow.settimeout(0.3)
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            try:
                slow.send(b"a")
                if slow.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("it was never ended")


def test_a_head_in_many_pieces_is_a_request(server: Server) -> None:
    raw = server.request("GET /versions")
    with callers(server, raw[:7], number=1) as (slow,):
        for start in range(7, len(raw), 40):
            slow.sendall(raw[start : start + 40])
            time.sleep(0.02)
        assert everything(slow).startswith(b"HTTP/1.1 200")


def test_two_requests_at_once_and_a_third_in_pieces_are_all_answered(server: Server) -> None:
    raw = server.request("GET /versions").replace(b"Connection: close\r\n", b"")
    with callers(server, raw + raw + raw[:20], number=1) as (caller,):
        caller.sendall(server.request("GET /versions")[20:])
        assert everything(caller).count(b"HTTP/1.1 200") == 3


def test_a_body_that_does_not_come_is_ended_with_an_answer(server: Server) -> None:
    """Those who may send a body have a thread for it, and a time."""
    raw = server.request("POST /api/v1.0/configdocs/slow", "Content-Length: 1000\r\n")
    with callers(server, raw) as slow:
        assert is_served(server)
        answers = [everything(one) for one in slow]

    assert all(answer.startswith(b"HTTP/1.1 400") and b"Body incomplete" in answer for answer in answers)


def test_an_answer_that_is_not_taken_is_broken_off(server: Server) -> None:
    """Answers of some 130 kB that are asked for again and again, until no buffer holds more of them."""
    raw = server.request("GET /openapi.json").replace(b"Connection: close\r\n", b"")
    with ExitStack() as stack:
        for _ in range(2 * THREADS):
            caller = stack.enter_context(socket.socket())
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.settimeout(WAIT)
            caller.connect(("127.0.0.1", server.port))
            caller.sendall(raw * 200)
        time.sleep(0.5)

        assert is_served(server)


def test_a_head_without_an_end_is_refused(server: Server) -> None:
    with callers(server, b"GET /versions HTTP/1.1\r\n" + b"X-A: b\r\n" * 10_000, number=1) as (caller,):
        answer = everything(caller)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 431"), answer[:100]
    assert is_served(server)
