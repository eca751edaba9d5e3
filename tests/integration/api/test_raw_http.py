"""What only a socket can send: bodies cut short, lengths that lie, headers that break lines.

The API runs under gunicorn as it is shipped. What gunicorn itself refuses is not a Status object, since no request has
come about yet; it is refused all the same, and nothing is stored.
"""

import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.observing import logs
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.yaml_stream import write_documents
from tests.factories import document
from tests.integration.api.served import Server, gunicorn
from tests.integration.storage.rows import counts, empty
from tests.unit.tables import every_row
from tests.waiting import PATIENCE, until

LIMIT = 2000
BODY = write_documents([document("a/B/v1", "one", {})])


@pytest.fixture(scope="module")
def server(shared_url: str, store: Store, engine: sa.Engine) -> Iterator[Server]:
    empty(engine)
    _, token = ApiTokens(store).create("raw", "admin")
    with gunicorn(shared_url, token, SHIPYARD_API_DESIGN_BYTES=str(LIMIT)) as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_is_stored(server: Server, engine: sa.Engine) -> Iterator[None]:
    """Nothing of any of this is stored, and the server goes on."""
    before = counts(engine)
    yield
    assert counts(engine) == before
    (answer,) = server.send(server.request("GET /api/v1.0/health", token=False))
    assert answer.code == 204


LOAD, ACT = "POST /api/v1.0/configdocs/design", "POST /api/v1.0/actions"


def test_a_caller_who_breaks_the_connection_while_sending_is_nobodys_trouble(
    shared_url: str, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not with an end of the body, but with a reset of the connection, as when their process or host dies."""
    headers = "Content-Type: application/json\r\nContent-Length: 200\r\nExpect: 100-continue\r\n"
    with gunicorn(shared_url, server.token) as here:
        capfd.readouterr()
        with socket.create_connection(("127.0.0.1", here.port), timeout=PATIENCE) as connection:
            connection.sendall(here.request(LOAD, headers))
            # From here on a thread has the request, and will look for the body.
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
            connection.sendall(b'{"name": "deploy_site"')
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        told = logged(capfd, "write")

    assert (told[-1]["logger"], told[-1]["status"], told[-1]["user"]) == (logs.AUDIT, 400, "raw")
    told += map(json.loads, capfd.readouterr().out.splitlines())
    assert [entry for entry in told if entry["level"] in ("WARNING", "ERROR")] == []


WHOLE = f"Content-Length: {len(BODY)}\r\n"
JSON = "Content-Type: application/json\r\n"
# Line, headers and body that are sent; code, message and a part of the reason.
REFUSED = {
    "a body cut short": (LOAD, f"Content-Length: {len(BODY) + 100}\r\n", BODY, 400, "Body incomplete", " arrived"),
    "JSON cut short": (ACT, f"{JSON}Content-Length: 200\r\n", b'{"name": "deploy_site"}', 400, "Body incomplete", ""),
    "a body behind its length": (LOAD, "Content-Length: 3\r\n", b"a: " + BODY, 400, "Document(s) invalid", ""),
    "a length above the limit": (
        LOAD,
        f"Content-Length: {LIMIT + 1}\r\n",
        b"",
        413,
        "Body too large",
        f"at most {LIMIT}",
    ),
    "a huge length": (LOAD, f"Content-Length: {10**30}\r\n", b"", 413, "Body too large", f"at most {LIMIT}"),
    "no length": (LOAD, "", BODY, 400, "Content-Length is a required header", ""),
    "chunks": (
        *(LOAD, "Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)),
        *(400, "Content-Length is a required header", ""),
    ),
    "a line break in an address": (f"{LOAD}%0d%0aX-Evil:%201", WHOLE, BODY, 400, "Invalid collection name", ""),
}
NO_HEADERS = {
    "a negative length": "Content-Length: -1\r\n",
    "a length with an underscore": "Content-Length: 1_0\r\n",
    "two lengths": "Content-Length: 10\r\nContent-Length: 20\r\n",
    "a length and chunks": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "an unknown encoding": "Transfer-Encoding: gzip\r\n",
    "a bare line feed": "X-Context-Marker: a\nX-Evil: 1\r\n",
    "a bare carriage return": "X-Context-Marker: a\rX-Evil: 1\r\n",
    "NUL in a header": "X-Context-Marker: a\0b\r\n",
    "a folded line": " folded\r\n",
    "a blank before the colon": "X-Auth-Token : x\r\n",
    "a large header": "X-Large: " + "a" * 9000 + "\r\n",
    "many headers": "".join(f"X-{number}: a\r\n" for number in range(100)),
}
NO_REQUESTS: dict[str, tuple[bytes, list[int]]] = {
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), []),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]),
    "HTTP/0.9": (b"GET /versions\r\n\r\n", [400]),
    "HTTP/9.9": (b"GET /versions HTTP/9.9\r\n\r\n", [400]),
    "NUL in the address": (b"GET /versions\0 HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
    "a long address": (b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", [414]),
    "a method in small letters": (b"get /versions HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
}


def test_bodies_and_lengths_that_lie_are_refused(server: Server) -> None:
    @every_row(REFUSED)
    def refused(line: str, headers: str, body: bytes, code: int, message: str, reason: str) -> None:
        (answer,) = server.send(server.request(line, headers, body), hang_up=True)
        assert answer.code == code
        assert answer.status["message"].startswith(message)
        assert reason in answer.status["reason"]
        assert "x-evil" not in answer.headers

    refused()
    # A body above the limit is not taken for the next request, and who waits for leave gets the refusal instead.
    body = server.request("GET /versions", token=False) + b"#" * (LIMIT + 1)
    raw = server.request(LOAD, f"Content-Length: {len(body)}\r\n", body).replace(b"Connection: close\r\n", b"", 1)
    assert [answer.code for answer in server.send(raw, hang_up=True)] == [413]
    waits = server.request(LOAD, f"Content-Length: {LIMIT + 1}\r\nExpect: 100-continue\r\n")
    answers = server.send(waits, hang_up=True)
    assert answers[-1].code == 413
    assert not any(200 <= answer.code < 300 for answer in answers)


def test_what_is_no_request_and_headers_that_are_none(server: Server) -> None:
    @every_row(NO_HEADERS)
    def refused(headers: str) -> None:
        answers = server.send(server.request(LOAD, headers, BODY), hang_up=True)
        assert [answer.code for answer in answers] in ([400], [431], [501]), answers
        assert all("x-evil" not in answer.headers for answer in answers)

    @every_row(NO_REQUESTS)
    def unread(raw: bytes, codes: list[int]) -> None:
        assert [answer.code for answer in server.send(raw, hang_up=True)] == codes

    refused()
    unread()
    (answer,) = server.send(server.request("GET /api/v1.0/actions/X").replace(b"X ", b"\xff\xc3\xa9 "), hang_up=True)
    assert 400 <= answer.code < 500
    # Headers of a filter in front are not believed, and no header says where the service begins.
    raw = server.request("POST /api/v1.0/commitconfigdocs", "X_Auth_Token: a\r\nX-Roles: admin\r\n", token=False)
    assert [answer.code for answer in server.send(raw, hang_up=True)] == [401]
    (answer,) = server.send(server.request(*BEGINNING, token=False))
    assert (answer.code, list(json.loads(answer.body))) == (200, ["v1.0"])


def logged(capfd: pytest.CaptureFixture[str], message: str) -> list[dict[str, Any]]:
    """The lines of the log from now on, up to one with the message."""
    text = ""

    def lines() -> list[dict[str, Any]]:
        nonlocal text
        text += capfd.readouterr().out
        found = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return found if message in [line["message"] for line in found] else []

    return until(lines, lambda: f"the log has no line {message!r}: {text}", every=0.05)


BEGINNING = ("GET /versions", "SCRIPT_NAME: /ver\r\nPATH_INFO: /api/v1.0/actions\r\n")


def test_a_caller_without_an_address_is_believed_no_more(shared_url: str, server: Server, short_path: Path) -> None:
    """Over a socket in the file system, gunicorn would let anybody say it."""
    with gunicorn(shared_url, server.token, path=str(short_path / "api.socket")) as local:
        (answer,) = local.send(local.request(*BEGINNING, token=False))

    assert (answer.code, list(json.loads(answer.body))) == (200, ["v1.0"])
