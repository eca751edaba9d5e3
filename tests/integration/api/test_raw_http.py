"""What only a socket can send: bodies cut short, lengths that lie, headers that break lines.

The API runs under gunicorn as it is shipped. What gunicorn itself refuses is not a Status object, since no request has
come about yet; it is refused all the same, and nothing is stored.
"""

import json
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api import logs
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens.manage import ApiTokens
from shipyard_api.yaml_stream import write_documents
from tests.factories import document
from tests.integration.api.served import WAIT, Answer, Server, gunicorn
from tests.integration.storage.rows import counts, empty

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


LOAD = "POST /api/v1.0/configdocs/design"


def one(server: Server, headers: str, body: bytes = b"", *, line: str = LOAD, hang_up: bool = False) -> Answer:
    (answer,) = server.send(server.request(line, headers, body), hang_up=hang_up)
    return answer


def test_a_body_cut_short_is_not_taken_for_a_whole_one(server: Server) -> None:
    answer = one(server, f"Content-Length: {len(BODY) + 100}\r\n", BODY, hang_up=True)

    assert (answer.code, answer.status["message"]) == (400, "Body incomplete")
    assert f"{len(BODY)} arrived" in answer.status["reason"]


def test_json_cut_short(server: Server) -> None:
    headers = "Content-Type: application/json\r\nContent-Length: 200\r\n"

    answer = one(server, headers, b'{"name": "deploy_site"}', line="POST /api/v1.0/actions", hang_up=True)

    assert (answer.code, answer.status["message"]) == (400, "Body incomplete")


@pytest.mark.parametrize("line", [LOAD, "POST /api/v1.0/actions", "POST /api/v1.0/plans"])
def test_a_caller_who_breaks_the_connection_while_sending_is_nobodys_trouble(
    shared_url: str, server: Server, capfd: pytest.CaptureFixture[str], line: str
) -> None:
    """Not with an end of the body, but with a reset of the connection, as when their process or host dies."""
    headers = "Content-Type: application/json\r\nContent-Length: 200\r\nExpect: 100-continue\r\n"
    with gunicorn(shared_url, server.token) as here:
        capfd.readouterr()
        with socket.create_connection(("127.0.0.1", here.port), timeout=WAIT) as connection:
            connection.sendall(here.request(line, headers))
            # From here on a thread has the request, and will look for the body.
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
            connection.sendall(b'{"name": "deploy_site"')
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        told = logged(capfd, until="write")

    assert (told[-1]["logger"], told[-1]["status"], told[-1]["user"]) == (logs.AUDIT, 400, "raw")
    told += map(json.loads, capfd.readouterr().out.splitlines())
    assert [entry for entry in told if entry["level"] in ("WARNING", "ERROR")] == []


def logged(capfd: pytest.CaptureFixture[str], *, until: str) -> list[dict[str, Any]]:
    """The lines of the log from now on, up to one with this message."""
    text, deadline = "", time.monotonic() + WAIT
    while time.monotonic() < deadline:
        text += capfd.readouterr().out
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        if until in [line["message"] for line in lines]:
            return lines
        time.sleep(0.05)
    pytest.fail(f"the log has no line {until!r}: {text}")


def test_what_is_behind_the_length_is_not_read(server: Server) -> None:
    answer = one(server, "Content-Length: 3\r\n", b"a: " + BODY)

    assert answer.code == 400


@pytest.mark.parametrize("length", [LIMIT + 1, 10**12, 10**30])
def test_a_length_above_the_limit_is_refused_before_the_body_comes(server: Server, length: int) -> None:
    answer = one(server, f"Content-Length: {length}\r\n", hang_up=True)

    assert (answer.code, answer.status["message"]) == (413, "Body too large")
    assert f"at most {LIMIT}" in answer.status["reason"]


def test_a_body_above_the_limit_is_not_taken_for_the_next_request(server: Server) -> None:
    inner = server.request("GET /versions", token=False)
    body = inner + b"#" * (LIMIT + 1)
    raw = server.request(LOAD, f"Content-Length: {len(body)}\r\n", body).replace(b"Connection: close\r\n", b"", 1)

    answers = server.send(raw, hang_up=True)

    assert [answer.code for answer in answers] == [413]


def test_without_a_length_there_is_no_body(server: Server) -> None:
    answer = one(server, "", BODY)

    assert (answer.code, answer.status["message"]) == (400, "Content-Length is a required header")


def test_a_chunked_body_has_no_length(server: Server) -> None:
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)

    answer = one(server, "Transfer-Encoding: chunked\r\n", chunks)

    assert (answer.code, answer.status["message"]) == (400, "Content-Length is a required header")


def test_a_length_of_nothing(server: Server) -> None:
    assert one(server, "Content-Length: 0\r\n").status["reason"] == "Content Length is 0 or not specified"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param("Content-Length: -1\r\n", id="a negative length"),
        pytest.param("Content-Length: ten\r\n", id="a length in words"),
        pytest.param("Content-Length: +10\r\n", id="a length with a sign"),
        pytest.param("Content-Length: 1_0\r\n", id="a length with an underscore"),
        pytest.param("Content-Length: 10\r\nContent-Length: 20\r\n", id="two lengths"),
        pytest.param("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", id="a length and chunks"),
        pytest.param("Transfer-Encoding: gzip\r\n", id="an unknown encoding"),
        pytest.param("X-Context-Marker: a\nX-Evil: 1\r\n", id="a bare line feed"),
        pytest.param("X-Context-Marker: a\rX-Evil: 1\r\n", id="a bare carriage return"),
        pytest.param("X-Context-Marker: a\0b\r\n", id="NUL in a header"),
        pytest.param(" folded\r\n", id="a folded line"),
        pytest.param("No colon\r\n", id="no colon"),
        pytest.param("X-Auth-Token : x\r\n", id="a blank before the colon"),
        pytest.param("X-Large: " + "a" * 9000 + "\r\n", id="a large header"),
        pytest.param("".join(f"X-{number}: a\r\n" for number in range(100)), id="many headers"),
    ],
)
def test_headers_that_are_none(server: Server, headers: str) -> None:
    answers = server.send(server.request(LOAD, headers, BODY), hang_up=True)

    assert [answer.code for answer in answers] in ([400], [431], [501]), answers
    assert all("x-evil" not in answer.headers for answer in answers)


@pytest.mark.parametrize(
    ("raw", "codes"),
    [
        pytest.param(b"\r\n\r\n", [400], id="empty lines"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), [], id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400], id="HTTP/2"),
        pytest.param(b"GET /versions\r\n\r\n", [400], id="HTTP/0.9"),
        pytest.param(b"GET /versions HTTP/9.9\r\n\r\n", [400], id="HTTP/9.9"),
        pytest.param(b"GET  /versions HTTP/1.1\r\n\r\n", [400], id="two blanks"),
        pytest.param(b"GET /versions\0 HTTP/1.1\r\nHost: x\r\n\r\n", [400], id="NUL in the address"),
        pytest.param(b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", [414], id="a long address"),
        pytest.param(b"get /versions HTTP/1.1\r\nHost: x\r\n\r\n", [400], id="a method in small letters"),
    ],
)
def test_what_is_no_request(server: Server, raw: bytes, codes: list[int]) -> None:
    answers = server.send(raw, hang_up=True)

    assert [answer.code for answer in answers] == codes


def test_a_line_break_in_an_address_does_not_become_a_header(server: Server) -> None:
    answer = one(server, f"Content-Length: {len(BODY)}\r\n", BODY, line=f"{LOAD}%0d%0aX-Evil:%201")

    assert (answer.code, answer.status["message"]) == (400, "Invalid collection name")
    assert "x-evil" not in answer.headers


def test_an_address_in_raw_bytes(server: Server) -> None:
    raw = server.request("GET /api/v1.0/actions/PLACE").replace(b"PLACE", b"\xff\xc3\xa9")

    (answer,) = server.send(raw, hang_up=True)

    assert 400 <= answer.code < 500


def test_a_caller_that_waits_for_leave_to_send_gets_the_refusal_instead(server: Server) -> None:
    headers = f"Content-Length: {LIMIT + 1}\r\nExpect: 100-continue\r\n"

    answers = server.send(server.request(LOAD, headers), hang_up=True)

    assert answers[-1].code == 413
    assert not any(200 <= answer.code < 300 for answer in answers)


def test_headers_of_a_filter_in_front_are_not_believed(server: Server) -> None:
    raw = server.request("POST /api/v1.0/commitconfigdocs", "X_Auth_Token: a\r\nX-Roles: admin\r\n", token=False)

    answers = server.send(raw, hang_up=True)

    assert [answer.code for answer in answers] == [401]


BEGINNING = ("GET /versions", "SCRIPT_NAME: /ver\r\nPATH_INFO: /api/v1.0/actions\r\n")


def test_no_header_says_where_the_service_begins(server: Server) -> None:
    (answer,) = server.send(server.request(*BEGINNING, token=False))

    assert (answer.code, list(json.loads(answer.body))) == (200, ["v1.0"])


def test_a_caller_without_an_address_is_believed_no_more(shared_url: str, server: Server, tmp_path: Path) -> None:
    """Over a socket in the file system, gunicorn would let anybody say it."""
    with gunicorn(shared_url, server.token, path=str(tmp_path / "api.socket")) as local:
        (answer,) = local.send(local.request(*BEGINNING, token=False))

    assert (answer.code, list(json.loads(answer.body))) == (200, ["v1.0"])
