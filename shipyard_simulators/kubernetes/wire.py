"""JSON bodies, Status objects and authentication, shared by all resources."""

import json
from collections.abc import Callable, Iterable
from email.utils import formatdate
from typing import Any

import falcon

from shipyard_simulators.clock import Clock
from shipyard_simulators.kubernetes.errors import (
    ApiError,
    bad_request,
    forbidden,
    forbidden_resource,
    unauthorized,
)

API = "/api/v1"

_OPEN = ("/version", "/healthz", "/livez", "/readyz")
_ANONYMOUS = "system:anonymous"
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}


class Dates:
    """Dates every answer by the simulator's clock, to which moments in objects belong."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def process_response(self, _req: falcon.Request, resp: falcon.Response, *_others: object) -> None:
        """Add the header."""
        resp.set_header("Date", formatdate(self._clock.now(), usegmt=True))


def send(resp: falcon.Response, content: object, code: int = 200) -> None:
    """Answer with an object."""
    resp.status = falcon.code_to_http_status(code)
    resp.content_type = "application/json"
    resp.text = json.dumps(content, separators=(",", ":"))


def object_of(req: falcon.Request) -> dict[str, Any]:
    """Return the object in the body; {} for an empty body. Raises ApiError."""
    try:
        content = json.loads(req.bounded_stream.read() or b"{}")
    except (ValueError, RecursionError) as cause:
        raise bad_request(f"the object provided is unrecognized: {cause}") from cause
    if not isinstance(content, dict):
        raise bad_request("the object provided is unrecognized: it is not a JSON object")
    return content


def refuse(_req: falcon.Request, resp: falcon.Response, error: ApiError, _params: object = None) -> None:
    """Answer a rejected request."""
    send(resp, error.body(), error.code)


def refuse_as_framework(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: object) -> None:
    """Answer an unknown path or a wrong method."""
    code = falcon.http_status_to_code(error.status)
    if code == 404:
        resp.status = falcon.HTTP_404
        resp.content_type = "text/plain; charset=utf-8"
        resp.text = "404 page not found\n"
        return
    if code == 405:
        message = "the server does not allow this method on the requested resource"
        refuse(req, resp, ApiError(405, "MethodNotAllowed", message, details={}))
        return
    refuse(req, resp, ApiError(code, "BadRequest", error.description or error.title or ""))


def simulated_fault(path: str, code: int, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request that a fault of the scenario applies to, with the usual text of the code."""
    headers, kind = [], "application/json"
    if code in (502, 503, 504):
        # A proxy in front of the API server answers for it, in its own format.
        kind, content = "text/html", f"<html><body><h1>{falcon.code_to_http_status(code)}</h1></body></html>"
    elif code == 429:
        headers, kind = [("Retry-After", "1")], "text/plain; charset=utf-8"
        content = "Too many requests, please try again later.\n"
    else:
        content = json.dumps(_fault(path, code).body())
    body = content.encode()
    headers += [("Content-Type", kind), ("Content-Length", str(len(body)))]
    start_response(falcon.code_to_http_status(code), headers)
    return [body]


def _fault(path: str, code: int) -> ApiError:
    if code == 401:
        return unauthorized()
    if code == 403:
        return _forbidden("shipyard", "POST" if path.endswith("/eviction") else "GET", path)
    if code == 500:
        return ApiError(500, "InternalError", "Internal error occurred: etcdserver: leader changed")
    return ApiError(code, "Unknown", "a fault of the scenario")


class Tokens:
    """Middleware for the bearer token. A caller without one is a user without rights, as under RBAC."""

    def __init__(self, token: str) -> None:
        self._token = token

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Reject a request before any resource sees it."""
        sent = req.get_header("Authorization")
        if req.path.startswith("/simulator") or (sent is None and req.path in _OPEN):
            return
        kind, _, token = (sent or "").partition(" ")
        if kind.lower() == "bearer" and token == self._token:
            return
        refuse(req, resp, unauthorized() if sent else _forbidden(_ANONYMOUS, req.method, req.path))
        resp.complete = True


def _forbidden(user: str, method: str, path: str) -> ApiError:
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return forbidden(user, method.lower(), path)
    name, resource = rest[1] if len(rest) > 1 else "", "/".join((rest[0], *rest[2:]))
    return forbidden_resource(user, _VERBS.get(method, "get" if name else "list"), resource, group, name, namespace)
