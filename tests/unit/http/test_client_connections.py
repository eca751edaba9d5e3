"""Connections that never come to be: what is said of them, and that nothing was sent on them."""

import contextlib
import errno
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import ReadTimeoutError

from shipyard_api.http import HttpClient
from shipyard_api.http.failures import ConnectionFailure, describe_failure, hung_up
from shipyard_api.ports.errors import PeerError, Unavailable
from shipyard_simulators.held_port import HeldPort
from tests.authority import Authority
from tests.unit.tables import table
from tests.waiting import PATIENCE

Handle = Callable[[socket.socket], None]


@pytest.fixture
def listening() -> Iterator[Callable[[Handle], str]]:
    """Start a server that does this with each connection; return its host and port."""
    stops = []

    def start(handle: Handle) -> str:
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    handle(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        stops.append((listener, thread))
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener, thread in stops:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(PATIENCE)


def plain(connection: socket.socket) -> None:
    connection.recv(10)
    connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


def mute(connection: socket.socket) -> None:
    """A server of lines: what TLS begins with has no end of line."""
    connection.settimeout(5)
    while connection.recv(65536):
        pass


def hang_up(connection: socket.socket) -> None:
    connection.recv(1)


def end(connection: socket.socket) -> None:
    """As a server that is shut down while it takes a connection."""
    connection.recv(65536)


def take(connection: socket.socket) -> None:
    """Read all of a request: a connection that is closed with something unread is reset."""
    taken = b""
    while not taken.endswith(b"{}") and (piece := connection.recv(65536)):
        taken += piece


def failure(url: str, **settings: object) -> PeerError:
    limits: dict[str, object] = {"connect_timeout": 0.3, "read_timeout": 77.0, "first_pause": 0.001}
    client = HttpClient(url, system="Shipyard", **(limits | settings))  # type: ignore[arg-type]  # a table of settings
    with pytest.raises(Unavailable) as error:
        client.post("actions", json={})
    return error.value


NO_TLS = {
    "plain": (plain, "no trusted connection to {}: [SSL"),
    "mute": (mute, "no TLS handshake with {} within 0.3 s: it is restarting or overloaded, or speaks no TLS; "),
    "hangs up": (
        hang_up,
        "{} hung up in the TLS handshake (ConnectionResetError): it is restarting or overloaded, or ",
    ),
    "ends": (end, "{} hung up in the TLS handshake (EOF): it is restarting or overloaded, or speaks no TLS; "),
}


@table(("handle", "told"), NO_TLS)
def test_a_server_without_tls_is_told_from_one_that_does_not_answer(listening, handle, told):
    where = listening(handle)
    error = failure(f"https://{where}")
    assert error.detail.startswith(told.format(where))
    assert error.detail.endswith("; without TLS an address begins with http://")
    assert not error.sent


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def with_tls(authority: Authority, answer: bytes = b"") -> Handle:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.vouch("server"))

    def handle(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            take(secured)
            secured.sendall(answer)

    return handle


def test_nothing_is_sent_to_a_server_that_is_not_trusted(listening, authority):
    where = listening(with_tls(authority))
    error = failure(f"https://{where}")
    assert (error.sent, "CERTIFICATE_VERIFY_FAILED" in error.detail) == (False, True)


def test_a_trusted_server_that_hangs_up_may_have_acted(listening, authority):
    where = listening(with_tls(authority, b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{"))
    error = failure(f"https://{where}", ca_file=str(authority.file))
    assert (error.sent, error.detail) == (True, f"the answer of {where} was cut short or broken (IncompleteRead)")


@pytest.mark.parametrize("path", ["none.pem", "broken.pem"])
def test_without_certificates_to_trust_nothing_is_sent(listening, authority, tmp_path, path):
    (tmp_path / "broken.pem").write_text("no certificate")
    error = failure(f"https://{listening(with_tls(authority))}", ca_file=str(tmp_path / path))
    assert not error.sent
    assert path == "broken.pem" or error.detail == (
        f"the file of trusted certificates {tmp_path}/none.pem does not exist"
    )


def test_nobody_listening_was_sent_nothing():
    with HeldPort() as held:
        where = f"127.0.0.1:{held.number}"
        error = failure(f"http://{where}")
    assert (error.sent, error.detail) == (False, f"no connection to {where}: Connection refused")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"], ids=["none", "half"])
def test_a_lost_answer_is_one_to_a_request_that_was_sent(listening, answer):
    def handle(connection: socket.socket) -> None:
        take(connection)
        connection.sendall(answer)

    error = failure(f"http://{listening(handle)}")
    assert (error.sent, hung_up(error)) == (True, not answer)


def test_a_host_that_cannot_be_is_never_asked(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it paused to ask again"))
    error = failure(f"http://{'a' * 64}.example.com")
    assert (error.sent, "example.com" in error.detail) == (False, True)


def test_a_connection_that_the_kernel_gives_up_is_told_from_a_slow_answer():
    """As urllib3 raises it; tests/crash/test_three_hosts.py cuts a real one."""
    where, found = "http://drydock:9000", []
    for number in (errno.ETIMEDOUT, None):
        try:
            try:
                raise TimeoutError(number, "timed out") if number else TimeoutError("timed out")
            except TimeoutError as timeout:
                raise ReadTimeoutError(HTTPConnectionPool("drydock"), "/", "Read timed out.") from timeout
        except ReadTimeoutError as error:
            found.append(describe_failure(error, where, connect=2, read=60))
    assert found == [
        ConnectionFailure("the connection to drydock:9000 is dead: nothing was acknowledged for 5 s"),
        ConnectionFailure("no answer from drydock:9000 within 60 s", lasting=True),
    ]
