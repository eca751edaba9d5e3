"""What every request has: an id and a context marker."""

import os
import re
import uuid
from urllib.parse import unquote_to_bytes

import falcon
import falcon.asgi

from shipyard_api.api.http.errors import InvalidAddress
from shipyard_api.api.http.observation import ROUTE
from shipyard_api.domain.actions import ActionId
from shipyard_api.observing import request_context
from shipyard_api.observing.request_context import RequestContext

REQUEST_ID_HEADER = "X-Shipyard-Req"
# Of a path in each line of the log; a caller chooses how long it is.
_LONGEST = 200
# What the path names, as fields of log lines.
_LOGGED = {"action_id": "action", "step_id": "step", "node_name": "node"}

# The digits of a UUID and what may stand around and between them. uuid.UUID alone reads digits as int() does, which
# takes 0x and _ for ornaments.
_UUID = re.compile(r"(urn:uuid:)?\{?[0-9A-Fa-f-]+\}?")


class RequestContextMiddleware:
    """Middleware; runs before routing and before authentication (contract: shipyard-rest, chapter 1)."""

    def __init__(self) -> None:
        self._drawn: list[bytes] = []

    async def process_request(self, req: falcon.asgi.Request, _resp: falcon.Response) -> None:
        """Give the request its id and its marker.

        Log lines and requests to peers carry marker and user of the request from here on.
        """
        req.context.request_id = _random_id(self._drawn)
        req.context.marker = _uuid(req.get_header("X-Context-Marker")) or req.context.request_id
        asked = {"request": req.context.request_id, "method": req.method, "path": req.path[:_LONGEST]}
        request_context.begin(RequestContext(req.context.marker, fields=asked))
        _check_address(req.scope.get("raw_path") or req.path.encode(), req.scope["query_string"])

    async def process_resource(
        self, req: falcon.asgi.Request, _resp: falcon.Response, _resource: object, params: dict[str, str]
    ) -> None:
        """Note the route, for those who observe the request, and what it is about, for the log."""
        req.scope[ROUTE] = req.uri_template or ""
        request_context.add_fields({_LOGGED[name]: text[:_LONGEST] for name, text in params.items() if name in _LOGGED})

    async def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Name the request in every answer, and let the answer to OPTIONS list that method, too.

        The thread is free for another request.
        """
        request_context.end()
        resp.set_header(REQUEST_ID_HEADER, getattr(req.context, "request_id", None) or str(uuid.uuid4()))
        allowed = resp.get_header("Allow")
        if req.method == "OPTIONS" and allowed and "OPTIONS" not in allowed:
            resp.set_header("Allow", ", ".join(sorted([*allowed.split(", "), "OPTIONS"])))


def note_created(req: falcon.Request, action: ActionId) -> None:
    """Note the new action that the request is answered with; for the audit log."""
    req.context.created_action = action


def created_action(req: falcon.Request) -> ActionId | None:
    """Return the new action that the request was answered with."""
    action: ActionId | None = getattr(req.context, "created_action", None)
    return action


def _random_id(drawn: list[bytes]) -> str:
    """Return a random UUID, from random bytes in ``drawn``, which threads may share.

    Each draw lets another thread have the interpreter, so they are few.
    """
    try:
        drawn_id = drawn.pop()
    except IndexError:
        many = os.urandom(16 * 256)
        drawn_id, *others = (many[at : at + 16] for at in range(0, len(many), 16))
        drawn.extend(others)
    return str(uuid.UUID(bytes=drawn_id, version=4))


def _uuid(written: str | None) -> str | None:
    if not written or not _UUID.fullmatch(written):
        return None
    try:
        return str(uuid.UUID(written))
    except ValueError:
        return None


def _check_address(path: bytes, query: bytes) -> None:
    """Refuse NUL, which Postgres cannot store, and what would be read as another address, as it is not UTF-8."""
    if b"%" not in path and b"%" not in query and path.isascii() and query.isascii():
        return
    for part, sent in (("path", unquote_to_bytes(path)), ("query", unquote_to_bytes(query))):
        if b"\0" in sent:
            raise InvalidAddress(part)
        try:
            sent.decode()
        except UnicodeDecodeError as wrong:
            raise InvalidAddress(part, sent[wrong.start]) from None
