"""YAML bodies, headers and the error body, shared by all resources."""

import uuid
from collections.abc import Callable, Iterable
from typing import Any

import falcon
import yaml

from shipyard_simulators.deckhand.errors import DeckhandError

API = "/api/v1.0"
MEDIA_TYPE = "application/x-yaml"
# libyaml where available: without it, a real site takes seconds.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_stream(req: falcon.Request) -> list[Any]:
    """Return the YAML documents of the body. Raises DeckhandError."""
    content = req.bounded_stream.read()
    try:
        return list(yaml.load_all(content, Loader=_LOADER))
    except (yaml.YAMLError, ValueError, RecursionError) as cause:
        text = " ".join(str(cause).split())
        raise DeckhandError(400, "HTTPBadRequest", f"Could not parse YAML into YAML mapping, error: {text}.") from cause


def send(resp: falcon.Response, content: object, status: int = 200) -> None:
    """Answer with one document."""
    send_stream(resp, [content], status)


def send_stream(resp: falcon.Response, documents: Iterable[object], status: int = 200) -> None:
    """Answer with a YAML stream; the body is empty without documents."""
    resp.status = falcon.code_to_http_status(status)
    resp.content_type = MEDIA_TYPE
    resp.text = dump(documents)


def dump(documents: Iterable[object]) -> str:
    """Return the documents as one text, without a leading separator."""
    text: str = yaml.dump_all(documents, Dumper=_DUMPER, allow_unicode=True, default_flow_style=False)
    return text.removeprefix("---\n")


def status_body(path: str, error: DeckhandError) -> dict[str, Any]:
    """Return the error body for a request to the path."""
    version = next((part for part in path.split("/") if part.startswith("v") and "." in part), "N/A")
    return {
        "kind": "Status",
        "apiVersion": version,
        "metadata": {},
        "status": "Failure",
        "code": falcon.code_to_http_status(error.status),
        "message": error.message,
        "reason": error.reason,
        "retry": error.status == 500,
        "details": {
            "errorType": error.error_type,
            "errorCount": len(error.entries),
            "messageList": error.entries,
        },
    }


def refuse(req: falcon.Request, resp: falcon.Response, error: DeckhandError, _params: object = None) -> None:
    """Answer a rejected request."""
    send(resp, status_body(req.path, error), error.status)


def refuse_as_framework(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: object) -> None:
    """Answer what the web framework rejects: unknown paths, wrong methods, query parameters."""
    for name, value in dict(error.headers or {}).items():
        resp.set_header(name, value)
    status = falcon.http_status_to_code(error.status)
    refuse(req, resp, DeckhandError(status, type(error).__name__, error.description or error.title or ""))


def refuse_breakage(req: falcon.Request, resp: falcon.Response, error: Exception, _params: object) -> None:
    """Answer as the real Deckhand does when a handler raises."""
    message = f"Unhandled Exception raised: {type(error).__name__}."
    refuse(req, resp, DeckhandError(500, type(error).__name__, message))


def simulated_fault(path: str, status: int, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer a request that a fault of the scenario applies to."""
    line = falcon.code_to_http_status(status)
    if status in (502, 503, 504):
        # A proxy in front of the service answers for it, in its own format.
        kind, content = "text/html", f"<html><body><h1>{line}</h1></body></html>".encode()
    else:
        error = DeckhandError(status, "SimulatedFault", "A fault of the scenario.")
        kind, content = MEDIA_TYPE, dump([status_body(path, error)]).encode()
    start_response(line, [("Content-Type", kind), ("Content-Length", str(len(content)))])
    return [content]


class Tokens:
    """Middleware that requires a token: the configured one, or any."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Reject a request without a token, before the service sees it."""
        if req.path in ("/versions", f"{API}/health") or req.path.startswith("/simulator"):
            return
        sent = req.get_header("X-Auth-Token")
        if not sent or (self._token is not None and sent != self._token):
            resp.status = falcon.HTTP_401
            resp.content_type = "text/plain"
            # Two colons in a line make this invalid YAML; clients notice.
            resp.text = "Authentication required: X-Auth-Token: missing or not valid"
            resp.set_header("WWW-Authenticate", "Keystone uri='http://keystone/v3'")
            req.context.turned_away = True
            resp.complete = True


class Headers:
    """Middleware that adds the request id and echoes the caller's headers."""

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _req_succeeded: bool
    ) -> None:
        """Set the headers."""
        if getattr(req.context, "turned_away", False) or req.path.startswith("/simulator"):
            return
        resp.set_header("X-Deckhand-Req", f"req-{uuid.uuid4()}")
        resp.set_header("X-User-Name", "simulated")
        for name in ("X-Context-Marker", "X-End-User"):
            value = req.get_header(name)
            if value is not None:
                resp.set_header(name, value)


class BodyTypes:
    """Middleware that accepts YAML only."""

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Reject a body of another type, or of none."""
        if req.method in ("GET", "HEAD", "DELETE", "OPTIONS") or req.path.startswith("/simulator"):
            return
        if not req.content_type:
            if req.content_length:
                raise falcon.HTTPMissingHeader("Content-Type")
            return
        if req.content_type.partition(";")[0].strip() != MEDIA_TYPE:
            raise falcon.HTTPUnsupportedMediaType(description=f"Unexpected content type: {req.content_type}.")


def revision_number(text: str) -> int:
    """Return the revision of a path; a text that is no number fails in the database."""
    if not text.isascii() or not text.removeprefix("-").isdigit():
        raise DeckhandError(500, "DBError", "Unhandled Exception raised: invalid input syntax for type integer.")
    return int(text)
