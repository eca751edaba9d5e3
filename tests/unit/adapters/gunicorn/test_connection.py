"""How a connection ends; what slow callers do to a server is in tests/integration/api/test_slow_callers.py."""

import json
import uuid
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from shipyard_api.adapters.gunicorn.connection import LINGER_SECONDS, BoundedConnection
from tests.unit.tables import every_row


class Transport:
    def __init__(self, *, gone: bool = False, closing: bool = False, halves: bool = True) -> None:
        self.calls: list[str] = []
        self.written = b""
        self._gone, self._closing, self._halves = gone, closing, halves

    def is_closing(self) -> bool:
        return self._closing

    def can_write_eof(self) -> bool:
        return self._halves

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.calls.append("close")

    def write_eof(self) -> None:
        if self._gone:
            raise OSError(107, "Transport endpoint is not connected")
        self.calls.append("write_eof")

    def resume_reading(self) -> None:
        self.calls.append("resume_reading")

    def abort(self) -> None:
        self.calls.append("abort")


def connection(transport: Transport) -> tuple[Any, list[tuple[float, Any]]]:
    timers: list[tuple[float, Any]] = []
    loop = SimpleNamespace(call_later=lambda seconds, work: timers.append((seconds, work)))
    worker = SimpleNamespace(cfg=SimpleNamespace(), log=SimpleNamespace(), asgi=None, loop=loop)
    made = BoundedConnection(worker)
    made.transport = transport
    return made, timers


def test_a_caller_may_take_the_answer_before_the_connection_ends() -> None:
    transport = Transport()
    made, timers = connection(transport)

    made._close_transport()
    made._close_transport()
    made.data_received(b"nothing of this is wanted")

    assert transport.calls == ["write_eof", "resume_reading"]
    ((seconds, end),) = timers
    end()
    assert (seconds, transport.calls[-1]) == (LINGER_SECONDS, "abort")


def test_of_a_caller_who_has_gone_nothing_is_left() -> None:
    transport = Transport(gone=True)
    made, timers = connection(transport)

    made._close_transport()

    assert transport.calls == ["abort"]
    assert timers == []


@every_row([(True, True), (False, False), (True, False)])
def test_a_connection_that_is_closing_or_has_no_halves_is_closed_at_once(closing: bool, halves: bool) -> None:
    transport = Transport(closing=closing, halves=halves)
    made, timers = connection(transport)

    made._close_transport()

    assert (transport.calls, timers) == (["close"], [])


TITLES = {
    400: "The request is not valid HTTP",
    414: "The request line is too long",
    431: "The header fields of the request are too large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


@every_row(
    [
        (400, "x" * 300, "x" * 200, False),
        (414, "long", "long", False),
        (431, "many", "many", False),
        (500, "broken", "broken", True),
        (503, "busy", "busy", True),
    ]
)
def test_a_request_that_no_application_sees_is_refused_in_the_form_of_the_api(
    status: int, message: str, shown: str, retry: bool
) -> None:
    transport = Transport()
    made, _ = connection(transport)

    made._send_error_response(status, message, [("Retry-After", "1")])

    head, _, body = transport.written.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    named = dict(header.split(": ", 1) for header in headers)
    marker = named.pop("X-Shipyard-Req")
    assert str(uuid.UUID(marker)) == marker
    assert named == {
        "Retry-After": "1",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    answer = json.loads(body)
    assert answer.pop("message") == TITLES[status]
    assert first == f"HTTP/1.1 {answer['code']}"
    assert answer == {
        "kind": "status",
        "apiVersion": "N/A",
        "metadata": {},
        "status": "Failure",
        "reason": shown,
        "details": {
            "errorType": "HTTPError",
            "errorCount": 1,
            "messageList": [{"message": shown, "error": True}],
        },
        "code": f"{status} {HTTPStatus(status).phrase}",
        "retry": retry,
    }
