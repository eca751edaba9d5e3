"""Bodies, answers, errors and authentication, shared by all resources."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.ironic.errors import IronicError, handler_error, invalid, routing_error
from shipyard_simulators.ironic.node import HOST
from shipyard_simulators.server import Application

API = "/v1"
LARGEST_BODY, LARGEST_PROVISION = 2**20, 2**26
_OPEN = ("/", "/v1")


class RequestIds:
    """Middleware that adds a request id to every answer."""

    def process_response(self, _req: falcon.Request, resp: falcon.Response, _resource: object, _ok: bool) -> None:
        """Add the id."""
        resp.set_header("x-openstack-request-id", f"req-{uuid4()}")


class Basic:
    """Middleware for http_basic. Its rejections are not wrapped in an error message."""

    def __init__(self, user: str, password: str) -> None:
        self._expected = (user, password)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Reject the request unless it has the right user and password."""
        if _open(req):
            return
        header = req.get_header("Authorization")
        kind, _, content = (header or "").partition(" ")
        try:
            user, colon, password = base64.b64decode(content, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            user, colon, password = "", "", ""
        if header and (kind.lower() != "basic" or not colon):
            _stop(resp, 400, {"error": {"message": "Could not read the Authorization header", "code": 400}})
        elif not header:
            _unauthorized(resp, "Authorization required")
        elif (user, password) != self._expected:
            _unauthorized(resp, "Incorrect username or password")


class Tokens:
    """Middleware that accepts a single token, as behind Keystone."""

    def __init__(self, token: str) -> None:
        self._token = token

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Reject the request unless it has the token."""
        if not _open(req) and req.get_header("X-Auth-Token") != self._token:
            resp.set_header("WWW-Authenticate", f'Keystone uri="{req.prefix}/identity"')
            message = "The request you have made requires authentication."
            _stop(resp, 401, {"error": {"code": 401, "title": "Unauthorized", "message": message}})


def _open(req: falcon.Request) -> bool:
    return req.path in _OPEN or req.path.startswith("/simulator")


def _unauthorized(resp: falcon.Response, message: str) -> None:
    resp.set_header("WWW-Authenticate", 'Basic realm="Baremetal API"')
    _stop(resp, 401, {"error": {"message": message, "code": 401}})


def _stop(resp: falcon.Response, status: int, body: Any) -> None:
    resp.status = falcon.code_to_http_status(status)
    resp.media = body
    resp.complete = True


def untyped_when_empty(application: Application) -> Application:
    """Return the application without a Content-Type on empty answers, which some clients cannot handle."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def started(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            if ("content-length", "0") in ((name.lower(), value) for name, value in headers):
                headers = [header for header in headers if header[0].lower() != "content-type"]
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        return application(environ, started)

    return answer


def body_of(req: falcon.Request) -> Any:
    """Return the JSON of the body whatever its Content-Type, or None if it is empty."""
    content = req.bounded_stream.read()
    if len(content) > (LARGEST_PROVISION if req.path.endswith("/states/provision") else LARGEST_BODY):
        raise IronicError(413, "Request body too large")
    if not content:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as cause:
        raise invalid(f"The body is not JSON: {cause}") from cause


def object_of(req: falcon.Request) -> dict[str, Any]:
    """Return the object in the body; {} for an empty body."""
    body = body_of(req)
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise invalid(f"Schema error for body: {body!r} is not of type 'object'")
    return body


def check_members(body: dict[str, Any], required: Iterable[str], optional: Iterable[str], what: str) -> None:
    """Reject a body with missing or unknown members."""
    for name in required:
        if name not in body:
            raise invalid(f"Schema error for {what}: '{name}' is a required property")
    for name in sorted(set(body) - set(required) - set(optional)):
        raise invalid(f"Schema error for {what}: Additional properties are not allowed ('{name}' was unexpected)")


def accepted(req: falcon.Request, resp: falcon.Response, location: str = "") -> None:
    """Answer 202 without a body: the operation will run."""
    resp.status = falcon.HTTP_202
    if location:
        resp.set_header("Location", f"{req.prefix}{location}")


def refuse(_req: falcon.Request, resp: falcon.Response, exception: IronicError, _params: dict[str, object]) -> None:
    """Answer a rejected request."""
    resp.status = falcon.code_to_http_status(exception.status)
    resp.media = exception.body()


def refuse_as_framework(
    _req: falcon.Request, resp: falcon.Response, exception: falcon.HTTPError, _params: dict[str, object]
) -> None:
    """Answer an unknown path or a wrong method."""
    status = int(str(exception.status)[:3])
    resp.status = falcon.code_to_http_status(status)
    for name, value in (exception.headers or {}).items() if isinstance(exception.headers, dict) else ():
        resp.set_header(name, value)
    resp.media = routing_error(status, str(resp.status)[4:], "")


_FAULTS = {
    409: f"Node is locked by host {HOST}, please retry after the current operation is completed.",
    500: "(sqlite3.OperationalError) database is locked",
    503: "Requested action cannot be performed due to lack of free conductor workers.",
}


def simulated_fault(path: str, status: int, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request that a fault of the scenario applies to, with the usual text of the status."""
    text = _FAULTS.get(status, "Simulated fault")
    if status == 409:
        segments = path.split("/")
        text = text.replace("Node ", f"Node {segments[3]} ", 1) if len(segments) > 3 else text
    body = json.dumps(handler_error(status, text)).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response(falcon.code_to_http_status(status), headers)
    return [body]
