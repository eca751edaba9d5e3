"""Reading bodies as strictly as Drydock does, and its error bodies."""

import json
import uuid
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import falcon

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.task_views import API

# Drydock fails while it reports these two, so the web framework answers.
_BREAK_REPORTING = (f"{API}/nodefilter", f"{API}/nodes")
_TITLES = {400: "Bad Request", 404: "Not Found", 500: "Internal Server Error", 502: "Bad Gateway"}
_WORDS = {401: "Unauthenticated", 403: "Forbidden", 500: "Unknown error"}


class BodyRefused(Exception):
    """A request body that Drydock rejects, with the status of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def json_object(req: falcon.Request, *, refuse_with: int) -> dict[str, Any]:
    """Return the JSON object in the body. Raises BodyRefused."""
    if req.content_type != "application/json":
        # Not even a charset parameter is accepted.
        raise BodyRefused(refuse_with, "the content type is not application/json")
    length = req.content_length or 0
    content = req.bounded_stream.read(length) if length else b""
    if not content:
        raise BodyRefused(refuse_with, "the body is empty")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as cause:
        raise BodyRefused(refuse_with, "the body is not JSON") from cause
    if not isinstance(body, dict):
        raise BodyRefused(refuse_with, "the body is no object")
    return body


def send_error(resp: falcon.Response, status: int, message: str) -> None:
    """Answer with Drydock's usual error body."""
    resp.status = falcon.code_to_http_status(status)
    resp.media = {"type": "error", "message": message, "retry": False}


def send_broken(resp: falcon.Response) -> None:
    """Answer as the web framework does when a handler raises."""
    resp.status = falcon.HTTP_500
    resp.media = {"title": falcon.HTTP_500}


def refuse_body(
    _req: falcon.Request, resp: falcon.Response, exception: BodyRefused, _params: dict[str, object]
) -> None:
    """Answer a rejected body."""
    send_error(resp, exception.status, "Unknown error" if exception.status == 500 else str(exception))


def health_status(*errors: str) -> dict[str, Any]:
    """Return the answer of the extended health check: healthy without errors."""
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Failure" if errors else "Success",
        "message": "",
        "reason": "HealthCheck",
        "details": {
            "errorCount": len(errors),
            "messageList": [{"message": each, "error": True, "kind": "SimpleMessage"} for each in errors],
        },
        "code": 503 if errors else 200,
    }


def simulated_fault(path: str, status: int, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer a request that a fault of the scenario applies to."""
    title = f"{status} {_TITLES.get(status, 'Error')}"
    if path in _BREAK_REPORTING and status >= 500:
        body: dict[str, Any] | None = {"title": title}
    elif status == 503 and path.startswith(f"{API}/health"):
        body = health_status("Unable to connect to database") if path.endswith("/extended") else None
    else:
        body = {"type": "error", "message": _WORDS.get(status, "Unknown error"), "retry": False}
    content = json.dumps(body).encode() if body else b""
    start_response(
        title,
        [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            ("X-Drydock-Req", str(uuid.uuid4())),
        ],
    )
    return [content]


class RequestIds:
    """Middleware that adds the request id to every answer."""

    def process_response(
        self, _req: falcon.Request, resp: falcon.Response, _resource: object, _req_succeeded: bool
    ) -> None:
        """Set the header."""
        resp.set_header("X-Drydock-Req", str(uuid.uuid4()))


class Dates:
    """Middleware that adds the simulator's time to every answer; clients use it to detect clock skew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def process_response(
        self, _req: falcon.Request, resp: falcon.Response, _resource: object, _req_succeeded: bool
    ) -> None:
        """Set the header."""
        resp.set_header("Date", formatdate(self._clock.now(), usegmt=True))


class Tokens:
    """Middleware that requires the token; versions and health need none."""

    def __init__(self, token: str) -> None:
        self._token = token

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Reject a request without the token."""
        open_to_all = req.path in ("/versions", "/api/v1.0/health") or req.path.startswith("/simulator")
        if req.get_header("X-Auth-Token") != self._token and not open_to_all:
            send_error(resp, 401, "Unauthenticated")
            resp.complete = True


def framework_error(_req: falcon.Request, resp: falcon.Response, exception: falcon.HTTPError) -> None:
    """Answer an unknown path or a wrong method as the framework does, with a title only."""
    resp.media = {"title": exception.title or resp.status}
