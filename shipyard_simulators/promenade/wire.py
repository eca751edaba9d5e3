"""Promenade's Status bodies with their oddities: the kind of an error is lower case, and texts may be null."""

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import falcon

API = "/api/v1.0"

Message = dict[str, Any]


class PromenadeError(Exception):
    """A request that ends in an error. ``kind``: the name of the exception; ``reason``: the seed's word."""

    def __init__(
        self, code: int, kind: str, message: str, *, reason: str | None = None, messages: Sequence[Message] = ()
    ) -> None:
        super().__init__(message)
        self.code, self.kind, self.message, self.reason = code, kind, message, reason
        self.messages = list(messages)

    def body(self) -> dict[str, Any]:
        """Return the answer."""
        messages = self.messages or [{"message": None, "error": True}]
        details = {"errorType": self.kind, "errorCount": len(messages), "messageList": messages}
        return _status("status", "Failure", self.message, self.reason, self.code, details) | {"retry": self.code == 500}


def message(text: str, *, failed: bool = False) -> Message:
    """Return one message of an answer."""
    return {"message": text, "error": failed, "kind": "SimpleMessage", "level": "Error" if failed else "Info"}


def success(reason: str, messages: Sequence[Message] = (), text: str = "") -> dict[str, Any]:
    """Return the answer of a success."""
    failed = sum(bool(one.get("error")) for one in messages)
    return _status("Status", "Success", text, reason, 200, {"errorCount": failed, "messageList": list(messages)})


def unsound(text: str) -> dict[str, Any]:
    """Return the answer of a failed validation; unlike that of an error, its kind is a capitalised Status."""
    finding = {"message": text, "error": True, "name": None, "documents": [], "level": "Error", "diagnostic": None}
    details = {"errorCount": 1, "messageList": [finding | {"kind": "ValidationMessage"}]}
    return _status("Status", "Failure", "Promenade validations failed", "Validation", 400, details)


class Headers:
    """Middleware that echoes the caller's headers and adds the request id, under Deckhand's name as in a real one."""

    def process_response(self, req: falcon.Request, resp: falcon.Response, *_others: object) -> None:
        """Set the headers."""
        for name in ("X-Context-Marker", "X-End-User"):
            if value := req.get_header(name):
                resp.set_header(name, value)
        resp.set_header("X-Deckhand-Req", str(uuid4()))


def refuse(_req: falcon.Request, resp: falcon.Response, error: PromenadeError, _params: object = None) -> None:
    """Answer a request that failed."""
    resp.status = falcon.code_to_http_status(error.code)
    resp.media = error.body()


def refuse_as_framework(_req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: object) -> None:
    """Answer an unknown route or method: a real one has no teardown API, so this is its answer to all of it."""
    kind = "HTTPRouteNotFound" if falcon.http_status_to_code(error.status) == 404 else type(error).__name__
    resp.status = error.status
    resp.media = PromenadeError(falcon.http_status_to_code(error.status), kind, error.title or "").body()


def simulated_fault(_path: str, code: int, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request that a fault applies to as the proxy in front of Promenade would."""
    body = f"<html><body><h1>{falcon.code_to_http_status(code)}</h1></body></html>".encode()
    headers = [("Content-Type", "text/html"), ("Content-Length", str(len(body)))]
    start_response(falcon.code_to_http_status(code), headers)
    return [body]


def _status(kind: str, status: str, text: str, reason: str | None, code: int, details: object) -> dict[str, Any]:
    return {
        "kind": kind,
        "apiVersion": "v1.0",
        "metadata": {},
        "status": status,
        "message": text,
        "reason": reason,
        "code": f"{code} {HTTPStatus(code).phrase}",
        "details": details,
    }
