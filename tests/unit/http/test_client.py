"""The HTTP client against a small server that misbehaves on purpose."""

import contextlib
import gzip
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from urllib3.connection import HTTPConnection, HTTPSConnection

from shipyard_api.http import HttpClient, refuses_us, segment
from shipyard_api.http.failures import retry_after
from shipyard_api.ports.errors import Busy, Unavailable
from shipyard_simulators.held_port import HeldPort
from tests.unit.tables import every_row, table
from tests.waiting import PATIENCE

Answer = Callable[[socket.socket], None]
TOKEN = "s3cret-token-of-the-operator"


def raw(text: str | bytes) -> Answer:
    """Send these bytes and hang up."""
    data = text.encode() if isinstance(text, str) else text
    return lambda connection: connection.sendall(data)


def answer(status: str, body: str = "", *headers: str) -> Answer:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body.encode())}", *headers]
    return raw("\r\n".join(lines) + "\r\n\r\n" + body)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def silence(connection: socket.socket) -> None:
    connection.settimeout(5)
    with contextlib.suppress(OSError):
        connection.recv(1)  # returns when the client gives up


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(100):
            connection.sendall(b".")
            time.sleep(0.02)


def drip_headers(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(100):
            connection.sendall(b".")
            time.sleep(0.02)


def flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(10_000):
            connection.sendall(b"400\r\n" + b"x" * 0x400 + b"\r\n")


@dataclass
class Peer:
    """A server that gives its answers in turn, one per request, and remembers the requests."""

    listener: socket.socket
    answers: list[Answer]
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/api"

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self.requests.append(self._read(connection))
                self.answers.pop(0)(connection)

    @staticmethod
    def _read(connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        return data


@pytest.fixture
def peer() -> Iterator[Callable[..., Peer]]:
    peers: list[tuple[Peer, threading.Thread]] = []

    def start(*answers: Answer) -> Peer:
        new = Peer(socket.create_server(("127.0.0.1", 0)), list(answers))
        thread = threading.Thread(target=new.serve)
        thread.start()
        peers.append((new, thread))
        return new

    yield start
    for one, thread in peers:
        one.listener.shutdown(socket.SHUT_RDWR)
        one.listener.close()
        thread.join(PATIENCE)


def impatient(broken: object) -> dict[str, float]:
    """Return the settings to wait shortly for a peer that is silent for seconds, and long for all others."""
    return {"read_timeout": 0.3} if broken is silence else {}


def client(peer: Peer, **settings: object) -> HttpClient:
    defaults: dict[str, object] = {"read_timeout": 10.0, "first_pause": 0.001}
    defaults["credentials"] = lambda: {"X-Auth-Token": TOKEN}
    return HttpClient(
        peer.url,
        system="Drydock",
        **(defaults | settings),  # type: ignore[arg-type]  # a table of settings
    )


def test_an_answer_is_whole_with_lower_case_headers(peer):
    server = peer(answer("200 OK", '{"a": [1, "ü"]}', "X-Shipyard-Req: 7"))
    got = client(server).get("/nodes", params={"verbosity": "1"})
    assert (got.status, got.ok, got.json(), got.headers["x-shipyard-req"]) == (200, True, {"a": [1, "ü"]}, "7")
    request = server.requests[0].decode().lower()
    assert request.startswith("get /api/nodes?verbosity=1 http/1.1\r\n")
    assert f"x-auth-token: {TOKEN}" in request
    assert "accept-encoding: identity" in request


HALF_CHUNK = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nonly this"
NO_LAST_CHUNK = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nonly\r\n"
BROKEN = {
    "reset": reset,
    "hangs up": raw(""),
    "no end of its head": raw("HTTP/1.1 200 OK\r\nContent-Type: a\r\n"),
    "too many headers": raw("HTTP/1.1 200 OK\r\n" + "A: 1\r\n" * 300 + "\r\n"),
    "too long a header": raw("HTTP/1.1 200 OK\r\nA: " + "1" * 70_000 + "\r\n\r\n"),
    "no header": raw("HTTP/1.1 200 OK\r\nnonsense\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n"),
    "another version": raw("HTTP/2.0 200 OK\r\n\r\n"),
    "not HTTP": raw("SSH-2.0-OpenSSH_9.9\r\n"),
    "half a chunk": raw(HALF_CHUNK),
    "no last chunk": raw(NO_LAST_CHUNK),
    "not gzip": answer("200 OK", "plain", "Content-Encoding: gzip"),
    "unavailable": answer("503 Service Unavailable", "oops"),
}


def told(error: BaseException) -> str:
    """Return an error with all that it came from."""
    chain, current = "", error
    while current is not None:
        chain, current = f"{chain}{current!r} {current}", current.__cause__ or current.__context__
    return chain


@table("broken", BROKEN)
def test_a_read_without_a_usable_answer_is_tried_again_a_few_times_and_a_write_never(peer, broken):
    server = peer(broken, broken, answer("200 OK", "good"))
    assert client(server).get("health").text == "good"
    assert len(server.requests) == 3

    server = peer(*[broken] * 5)
    with pytest.raises(Unavailable) as error:
        client(server).get("health")
    assert (error.value.system, error.value.operation) == ("Drydock", "GET /health")
    assert TOKEN not in told(error.value)
    assert len(server.requests) == 3

    server = peer(broken, answer("201 Created", "second"))
    with pytest.raises(Unavailable) as error:
        client(server).post("tasks", json={"action": "deploy_nodes"}, marker="m-1")
    assert error.value.marker == "m-1"
    assert len(server.requests) == 1


ENDLESS = {
    "silent": (silence, "no answer from"),
    "dripping": (drip, "took longer than"),
    "dripping before the body": (drip_headers, "took longer than"),
    "flooding": (flood, "larger than 5000 bytes"),
    "announced huge": (answer("200 OK", "", "Content-Length: 5001"), "larger than 5000 bytes"),
}


@table(("broken", "text"), ENDLESS)
def test_a_slow_or_huge_answer_is_given_up_at_once(peer, broken, text):
    if text.startswith("larger") and broken is not flood:
        broken = raw("HTTP/1.1 200 OK\r\nContent-Length: 5001\r\n\r\n")
    server = peer(broken, answer("200 OK", "second"))
    slow = broken in (drip, drip_headers)
    with pytest.raises(Unavailable, match=text) as error:
        client(server, max_body=5000, total_timeout=0.2 if slow else 60, **impatient(broken)).get("nodes")
    assert TOKEN not in told(error.value)
    assert len(server.requests) == 1


def test_nobody_listening_says_so():
    with (
        HeldPort() as held,
        pytest.raises(Unavailable, match=r"GET /x: no connection to 127.0.0.1:\d+: Connection refused"),
    ):
        HttpClient(f"http://127.0.0.1:{held.number}", system="Shipyard", first_pause=0.001).get("x")


BUSY = {
    "too many": (answer("429 Too Many Requests", "", "Retry-After: 7"), 7.0),
    "later": (answer("503 Service Unavailable", "", "Retry-After: 2"), 2.0),
}


@table(("busy", "after"), BUSY)
def test_a_busy_peer_is_left_alone(peer, busy, after):
    server = peer(busy, answer("200 OK", "second"))
    with pytest.raises(Busy) as error:
        client(server).get("nodes", marker="m-2")
    assert (error.value.retry_after, error.value.marker, len(server.requests)) == (after, "m-2", 1)


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "409 Conflict", "500 Oops", "302 Found"])
def test_every_other_status_is_the_callers_to_judge(peer, status):
    server = peer(answer(status, "why", "Location: http://127.0.0.1:1/", "Retry-After: 1"))
    got = client(server).post("actions", body=b"x")
    assert (f"{got.status}", got.text, got.ok) == (status[:3], "why", False)


def test_send_returns_the_peers_own_words_even_with_503(peer):
    server = peer(*[answer("503 Service Unavailable", "closed for today")] * 3)
    assert client(server).send("GET", "health").text == "closed for today"
    assert len(server.requests) == 3


UNDECODABLE = {
    "half a document": b'{"nodes": [',
    "deep": b"[" * 100_000,
}


@table("body", UNDECODABLE)
def test_a_body_that_is_not_json_is_no_answer(peer, body):
    server = peer(raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body))
    with pytest.raises(Unavailable, match="answered 200, not in"):
        client(server).get("nodes").json()


def test_every_attempt_proves_anew_who_we_are(peer):
    server = peer(answer("502 Bad Gateway"), reset, answer("200 OK", "[]"))
    nonces = iter("abc")
    client(server, credentials=lambda: {"X-Nonce": next(nonces)}).get("nodes")
    assert [request.lower().partition(b"x-nonce: ")[2][:1] for request in server.requests] == [b"a", b"b", b"c"]


RENEWED = {
    "once": (["401 Unauthorized", "200 OK"], 200, ["old", "new"]),
    "and not again": (["401 Unauthorized", "401 Unauthorized"], 401, ["old", "new"]),
    "a lost answer": (["401 Unauthorized", "502 Bad Gateway", "200 OK"], 200, ["old", "new", "new"]),
    "another refusal": (["403 Forbidden"], 403, ["old"]),
}


@table("statuses, status, tokens", RENEWED)
def test_a_request_is_sent_once_more_with_new_credentials(peer, statuses, status, tokens):
    server = peer(*map(answer, statuses))
    valid = ["old"]
    subject = client(server, credentials=lambda: {"X-Auth-Token": valid[-1]}, renew=lambda: valid.append("new"))
    assert subject.get("nodes").status == status
    assert [text.partition(b"x-auth-token: ")[2][:3].decode() for text in server.requests] == tokens


@pytest.mark.parametrize("renewed", [False, True])
def test_nothing_is_sent_once_credentials_took_too_long(peer, monkeypatch, renewed):
    server = peer(answer("401 Unauthorized"), answer("200 OK"))
    late = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late[0])
    monkeypatch.setattr("shipyard_api.http.client.time", clock)

    def slowly():
        late[0] += 7200.0
        return {}

    slow = {"renew": slowly} if renewed else {"credentials": slowly}
    with pytest.raises(Unavailable, match="too long; nothing was sent") as error:
        client(server, **slow).post("tasks", begin_within=3600.0)
    assert (len(server.requests), error.value.sent) == (renewed, False)


def test_a_large_answer_is_parsed_while_it_arrives(peer):
    subject = client(peer(answer("200 OK", "[1]"), answer("404 Not Found", "gone"), answer("200 OK", "oops")))

    def read():
        got = subject.send("GET", "a", parse=lambda pieces: json.loads(b"".join(pieces)))
        return got.parsed, got.body

    assert [read(), read()] == [([1], b""), (None, b"gone")]
    with pytest.raises(Unavailable, match="not in the JSON expected"):
        read()


@pytest.mark.parametrize("body", ["[]", "1", "null", '"text"'])
def test_what_is_to_be_an_object_is_one(peer, body):
    got = client(peer(answer("200 OK", body))).get("nodes")
    with pytest.raises(Unavailable, match="answered 200 with JSON of an unexpected structure"):
        got.object()


def test_objects_are_those_of_the_list(peer):
    got = client(peer(answer("200 OK", '[{"a": 1}, 2, {"b": 3}]'))).get("nodes")
    assert got.objects() == [{"a": 1}, {"b": 3}]
    within = client(peer(answer("200 OK", '{"nodes": [{"a": 1}, null], "next": "x"}'))).get("nodes")
    assert within.objects("nodes") == [{"a": 1}]
    for key in ("", "next", "missing"):
        with pytest.raises(Unavailable, match="unexpected structure"):
            within.objects(key)


@every_row(["a\r\nX-Evil: 1", "a\x00", "é", "a\n"])
def test_a_header_that_http_forbids_is_refused_without_showing_it(value):
    sender = HttpClient("http://127.0.0.1:1", system="x", credentials=lambda: {"X-Auth-Token": value})
    with pytest.raises(ValueError, match="the header X-Auth-Token holds") as error:
        sender.get("nodes")
    assert value not in str(error.value)


BAD_BASES = [
    "",
    "localhost:9000",
    "ftp://a/",
    "http://u:p@host/",
    "http://host/?a=1",
    "http://host:99999",
    "http://a b/",
    "http://host\udcff/",
]


@every_row(BAD_BASES)
def test_a_base_url_that_cannot_work_is_refused(url):
    with pytest.raises(ValueError, match="a base URL must"):
        HttpClient(url, system="x")


def test_proxies_of_the_environment_are_ignored(peer, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    monkeypatch.setenv("no_proxy", "")
    assert client(peer(answer("200 OK", "direct"))).get("x").text == "direct"


def test_threads_that_ask_at_the_same_time_get_their_own_answers(peer):
    one = client(peer(*[answer("200 OK", "good", "Connection: close")] * 8), read_timeout=5)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(one.get("x").text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.close()
    assert texts == ["good"] * 8


def test_a_connection_is_kept_for_any_thread_and_a_cookie_for_none(peer):
    def twice(connection: socket.socket) -> None:
        answer("200 OK", "first", "Set-Cookie: who=first")(connection)
        second = Peer._read(connection).lower()
        answer("200 OK", "a cookie" if b"cookie" in second else "second")(connection)

    server = peer(twice)
    one = client(server)
    texts = [one.get("x").text]
    thread = threading.Thread(target=lambda: texts.append(one.get("x").text))
    thread.start()
    thread.join()
    assert texts == ["first", "second"]
    assert len(server.requests) == 1
    one.close()


def test_a_connection_that_the_peer_has_closed_is_not_used_again(peer):
    server = peer(answer("200 OK", "first"), answer("201 Created", "second"))
    one = client(server)
    assert one.get("x").text == "first"
    pool = one._opened()._adapter.poolmanager.connection_from_url(server.url)
    (kept,) = [connection for connection in pool.pool.queue if connection is not None]
    select.select([kept.sock], [], [], 10)
    assert one.post("x", body=b"").text == "second"


def test_a_connection_with_the_rest_of_an_answer_is_not_used_again(peer):
    def more(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nother")
        silence(connection)

    one = client(peer(more, answer("200 OK", "good")), max_body=5)
    with pytest.raises(Unavailable, match="larger than 5 bytes"):
        one.get("x")
    assert one.get("x").text == "good"


def test_a_compressed_answer_is_unpacked_although_none_was_asked_for(peer):
    body = gzip.compress(b"[1, 2]")
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    assert client(peer(raw(head.encode() + body))).get("x").json() == [1, 2]


HEADS = {
    "twice": ("Via: 1.1 a\r\nvia: 1.1 b", {"via": "1.1 a, 1.1 b"}),
    "folded": ("X-Long: one\r\n\ttwo\r\n three", {"x-long": "one two three"}),
    "empty and without a space": ("X-None:\r\nX-Close:a:b ", {"x-none": "", "x-close": "a:b"}),
    "not ASCII": ("X-Name: b\xfccher", {"x-name": "bücher"}),
    "most": ("\r\n".join(f"x-{number}: 1" for number in range(90)), {f"x-{number}": "1" for number in range(90)}),
}


@pytest.mark.parametrize(("head", "headers"), HEADS.values(), ids=HEADS.keys())
def test_headers_are_read_as_the_standard_has_them(peer, head, headers):
    text = f"HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: 2\r\n\r\nok"
    got = client(peer(raw(text.encode("latin-1")))).get("x")
    assert (got.headers, got.text) == (headers | {"content-length": "2"}, "ok")


BODIES = {
    "chunked": (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nX: 1\r\n\r\n",
        "abc",
    ),
    "until the end": ("HTTP/1.1 200 OK\r\n\r\nabc", "abc"),
    "HTTP/1.0": ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"),
    "after a 100": ("HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"),
    "none": ("HTTP/1.1 204 No Content\r\n\r\n", ""),
    "length twice": ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "abc"),
}


@pytest.mark.parametrize(("text", "body"), BODIES.values(), ids=BODIES.keys())
def test_a_body_ends_where_its_head_says(peer, text, body):
    assert client(peer(raw(text))).get("x").text == body


def test_what_an_address_cannot_hold_is_quoted_and_nothing_twice(peer):
    server = peer(answer("200 OK"))
    client(server).get("a%2Fb/é [x]?op=a,b&c=d e")
    assert server.requests[0].split(b"\r\n")[0] == b"GET /api/a%2Fb/%C3%A9%20%5Bx%5D?op=a,b&c=d%20e HTTP/1.1"


HOSTS = {
    "http://Peer:80/api": "peer",
    "https://peer": "peer",
    "https://peer:80": "peer:80",
    "http://[fe80::1%25eth0]:8080": "[fe80::1]:8080",
    "http://bücher.example": "xn--bcher-kva.example",
}


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")  # nothing is checked here
@pytest.mark.parametrize(("url", "host"), HOSTS.items())
def test_the_host_of_a_request_is_that_of_the_address(monkeypatch, url, host):
    ours = socket.socketpair()

    def connect(connection: HTTPConnection) -> None:
        connection.sock = ours[0]
        ours[1].sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    for kind in (HTTPConnection, HTTPSConnection):
        monkeypatch.setattr(kind, "connect", connect)
    HttpClient(url, system="x").get("a")
    sent = ours[1].recv(65536).split(b"\r\n")
    ours[1].close()
    assert sent[1] == f"Host: {host}".encode()


def test_parameters_follow_those_of_the_path(peer):
    server = peer(*[answer("200 OK")] * 3)
    for path, params in [("x", [("a", "1 2"), ("a", "é&")]), ("x?z=1", {"b": "2"}), ("x", ())]:
        client(server).get(path, params=params)
    lines = [request.split(b" ")[1] for request in server.requests]
    assert lines == [b"/api/x?a=1+2&a=%C3%A9%26", b"/api/x?z=1&b=2", b"/api/x"]


NOW = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
HINTS = [
    ("30", 30.0),
    ("Sat, 21 Nov 2026 10:01:00 GMT", 60.0),
    ("Sat, 21 Nov 2026 09:00:00 GMT", 0.0),
    ("9" * 400, 86_400.0),
    ("Sat, 21 Nov 2099 10:01:00 GMT", 86_400.0),
    ("soon", None),
    ("-5", None),
    ("", None),
]


@every_row(HINTS)
def test_retry_after_is_read_as_seconds_or_date(value, seconds):
    assert retry_after({"retry-after": value}, now=NOW) == seconds


def test_a_refusal_of_us_is_told_from_one_of_the_request():
    ours = {status for status in range(300, 500) if refuses_us(status)}
    assert ours == {*range(300, 400), 401, 403, 404, 405, 406, 407}


def test_a_segment_keeps_what_it_holds_out_of_the_path():
    assert segment("a/b?c#d é") == "a%2Fb%3Fc%23d%20%C3%A9"
