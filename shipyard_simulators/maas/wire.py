"""JSON and text answers, the API's hash, and errors, shared by all operations."""

import json
from collections.abc import Callable
from typing import Any

import falcon

from shipyard_simulators.maas.errors import MaasError

ROOT = "/MAAS"
API = f"{ROOT}/api/2.0"

API_HASH = "5c2ef0d4a1f8b7e63d90c4f2a7b81e56903d7c6b"
"""The hash of the API's description; clients that cache the description compare it."""

_RETRY_AFTER = {409: 5, 503: 10}
_WORDS = {
    409: "Conflict error. Try your request again, as it will most likely succeed.",
    503: "Unable to connect to any rack controller; no connections available.",
}


def send(resp: falcon.Response, content: Any, status: int = 200) -> None:
    """Answer with JSON."""
    resp.status = falcon.code_to_http_status(status)
    resp.content_type = "application/json"
    resp.text = json.dumps(content, indent=4)


def send_text(resp: falcon.Response, text: str, status: int) -> None:
    """Answer with plain text."""
    resp.status = falcon.code_to_http_status(status)
    resp.content_type = "text/plain; charset=utf-8"
    resp.text = text


def refuse(_req: falcon.Request, resp: falcon.Response, error: MaasError, _params: object = None) -> None:
    """Answer a rejected request."""
    if isinstance(error.body, str):
        send_text(resp, error.body, error.status)
    else:
        send(resp, error.body, error.status)
    if error.retry_after is not None:
        resp.set_header("Retry-After", str(error.retry_after))
    if error.status == 401:
        resp.set_header("WWW-Authenticate", 'OAuth realm="API"')


def refuse_path(req: falcon.Request, resp: falcon.Response, _error: Exception, _params: object) -> None:
    """Answer an unknown path; one without its last slash is redirected."""
    if req.path.startswith(ROOT) and not req.path.endswith("/"):
        resp.status = falcon.HTTP_301
        resp.location = f"{req.path}/{'?' if req.query_string else ''}{req.query_string}"
        resp.text = ""
        return
    send_text(resp, f"Unknown API endpoint: {req.path}.", 404)


def refuse_breakage(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: object) -> None:
    """Answer an unexpected exception, which is a bug of the simulator."""
    send_text(resp, f"{type(error).__name__}: {error}", 500)


def simulated_fault(_path: str, status: int, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer a request that a fault of the scenario applies to."""
    line = falcon.code_to_http_status(status)
    headers = []
    if status in (502, 504):
        # A proxy in front of the region answers for it, in its own format.
        kind, content = "text/html", f"<html><body><h1>{line}</h1></body></html>".encode()
    else:
        kind, content = "text/plain; charset=utf-8", _WORDS.get(status, "A fault of the scenario.").encode()
        headers = [("X-MAAS-API-Hash", API_HASH)]
    if status in _RETRY_AFTER:
        headers.append(("Retry-After", str(_RETRY_AFTER[status])))
    start_response(line, [("Content-Type", kind), ("Content-Length", str(len(content))), *headers])
    return [content]


class Headers:
    """Middleware that adds the hash of the API to every answer."""

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _req_succeeded: bool
    ) -> None:
        """Set the header."""
        if req.path.startswith(ROOT):
            resp.set_header("X-MAAS-API-Hash", API_HASH)
            resp.set_header("Vary", "Authorization,Cookie")
