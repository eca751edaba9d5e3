"""Errors as ``application/problem+json`` (RFC 9457), for callers who name this type in ``Accept``.

Clients of the dialects know other forms and do not name it, so they get these.
"""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import falcon
import falcon.asgi
from falcon import parse_header
from msgspec import Struct, field

TYPE = "application/problem+json"


class Problem(Struct, frozen=True):
    """An error in words; ``further``: the members that only its dialect has. Without a title it is that of its code."""

    title: str | None
    detail: str | None
    further: Mapping[str, Any] = field(default_factory=dict)


class Problems:
    """Middleware; its place is before whatever names or compresses bodies.

    ``read``: returns the problem in an error of the dialect, None for any other body.
    """

    def __init__(self, read: Callable[[Mapping[str, Any]], Problem | None]) -> None:
        self._read = read

    async def process_response(
        self, req: falcon.Request, resp: falcon.asgi.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Write an error in the other form, if the caller asks for it."""
        code, body = resp.status_code, resp.media
        if code < HTTPStatus.BAD_REQUEST or not isinstance(body, dict) or not _names(req.get_header("Accept")):
            return
        if (problem := self._read(body)) is None:
            return
        kind = getattr(req.context, "error_code", None)
        members = {
            "type": f"urn:shipyard:error:{kind}" if kind else "about:blank",
            "title": problem.title if kind and problem.title else HTTPStatus(code).phrase,
            "status": code,
            "detail": problem.detail or problem.title,
            "instance": f"urn:uuid:{req.context.request_id}",
            **problem.further,
        }
        resp.media = None
        resp.content_type = TYPE
        resp.append_header("Vary", "Accept")
        resp.data = json.dumps({name: value for name, value in members.items() if value is not None}).encode()


def _names(accept: str | None) -> bool:
    """Return whether the header names the type, with a weight above 0."""
    for media_type in (accept or "").split(","):
        kind, parameters = parse_header(media_type.strip())
        if kind.lower() == TYPE:
            return parameters.get("q", "1").strip("0.") != ""
    return False
