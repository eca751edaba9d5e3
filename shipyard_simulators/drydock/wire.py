"""What every resource shares on the wire: reading bodies as strictly as Drydock, and its error bodies."""

import json
import uuid
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import falcon

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.task_views import API

# These two break while they report an error, so theirs comes from the web framework.
_BREAK_REPORTING = (f"{API}/nodefilter", f"{API}/nodes")
_TITLES = {400: "Bad Request", 404: "Not Found", 500: "Internal Server Error", 502: "Bad Gateway"}
_WORDS = {401: "Unauthenticated", 403: "Forbidden", 500: "Unknown error"}


class BodyRefused(Exception):
    """A request body that Drydock does not read, and the status it answers with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def json_object(req: falcon.Request, *, refuse_with: int) -> dict[str, Any]:
    """Return the object in the body, or raise BodyRefused with the status."""
    if req.content_type != "application/json":
        # Not even a charset may follow.
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
    """Answer the way the web framework does when a handler breaks."""
    resp.status = falcon.HTTP_500
    resp.media = {"title": falcon.HTTP_500}


def refuse_body(
    _req: falcon.Request, resp: falcon.Response, exception: BodyRefused, _params: dict[str, object]
) -> None:
    """Answer a body that was not read."""
    send_error(resp, exception.status, "Unknown error" if exception.status == 500 else str(exception))


def simulated_fault(path: str, status: int, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer a request that was told to fail, in the place of the service."""
    title = f"{status} {_TITLES.get(status, 'Error')}"
    if path in _BREAK_REPORTING and status >= 500:
        body: dict[str, Any] = {"title": title}
    else:
        body = {"type": "error", "message": _WORDS.get(status, "Unknown error"), "retry": False}
    content = json.dumps(body).encode()
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
    """Puts the id of the request on every answer."""

    def process_response(
        self, _req: falcon.Request, resp: falcon.Response, _resource: object, _req_succeeded: bool
    ) -> None:
        """Set the header."""
        resp.set_header("X-Drydock-Req", str(uuid.uuid4()))


class Dates:
    """Tells on every answer what time it is here, by which a client sees how far its own clock differs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def process_response(
        self, _req: falcon.Request, resp: falcon.Response, _resource: object, _req_succeeded: bool
    ) -> None:
        """Set the header."""
        resp.set_header("Date", formatdate(self._clock.now(), usegmt=True))


class Tokens:
    """Lets in whoever sends the token this Drydock was given; versions and health are open to all."""

    def __init__(self, token: str) -> None:
        self._token = token

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Refuse a request without the token."""
        open_to_all = req.path in ("/versions", "/api/v1.0/health") or req.path.startswith("/simulator")
        if req.get_header("X-Auth-Token") != self._token and not open_to_all:
            send_error(resp, 401, "Unauthenticated")
            resp.complete = True


def framework_error(_req: falcon.Request, resp: falcon.Response, exception: falcon.HTTPError) -> None:
    """Write the framework's own errors (unknown path, wrong method) with nothing but a title."""
    resp.media = {"title": exception.title or resp.status}
