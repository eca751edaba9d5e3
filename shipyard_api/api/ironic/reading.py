"""Reading requests: query parameters, names and ids, bodies (contract, 2 and 7 to 10)."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import falcon
import falcon.asgi

from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.reading import parse_value, read_body
from shipyard_api.ports.state.deploy_templates import TemplateId


class TooDeep(Fault):
    """The body is nested deeper than this dialect reads; answered without the wrapping of other faults."""


class NotServed(Fault):
    """There is no such resource, method or version (contract, 5: the second form)."""


FIELDS = ("uuid", "name", "steps", "extra", "created_at", "updated_at", "links")
"""The fields of a template."""

_DEEPEST = 25
_SHOWN = 60
_UUID = re.compile(r"[0-9A-Fa-f]{32}")
_NAME = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_TRUE, _FALSE = ("true", "1", "t", "y", "yes", "on"), ("false", "0", "f", "n", "no", "off")


def query(req: falcon.Request, allowed: Collection[str] = ()) -> Mapping[str, str]:
    """Return the query parameters; of one that is repeated the values, joined by commas. An empty one is kept."""
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(req.query_string, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    if unknown := [name[:_SHOWN] for name in values if name not in allowed]:
        raise Fault(f"Unexpected arguments: {', '.join(unknown)}")
    return {name: ",".join(given) for name, given in values.items()}


def check_accepts(req: falcon.Request) -> None:
    """Refuse a caller that does not take JSON, the only form of answers."""
    if not req.client_accepts_json:
        raise Fault("Answers are application/json, which the header Accept does not allow.", falcon.HTTP_406)


def fields(written: str) -> tuple[str, ...]:
    """Return the fields that a caller asks for; none for an empty parameter."""
    names = [name.strip().lower() for name in written.split(",") if name.strip()]
    if unknown := [name[:_SHOWN] for name in names if name not in FIELDS]:
        raise Fault(f'Field(s) "{", ".join(unknown)}" are not valid; fields are {", ".join(FIELDS)}')
    return tuple(dict.fromkeys(names))


def boolean(name: str, written: str) -> bool:
    """Return a parameter that is yes or no."""
    if written.lower() not in _TRUE + _FALSE:
        raise Fault(f"Invalid value for {name}: {written[:_SHOWN]!r} is not true or false")
    return written.lower() in _TRUE


def positive(name: str, written: str) -> int:
    """Return a parameter that is a whole number above 0."""
    if not re.fullmatch(r"[0-9]{1,18}", written, re.ASCII) or int(written) == 0:
        raise Fault(f"Invalid value for {name}: {written[:_SHOWN]!r} is not a whole number above 0")
    return int(written)


def one_of(name: str, written: str, words: Sequence[str]) -> str:
    """Return a parameter that is one of some words."""
    if written not in words:
        raise Fault(f"Invalid value for {name}: {written[:_SHOWN]!r} is not one of {', '.join(words)}")
    return written


def as_id(written: str) -> TemplateId | None:
    """Return an id in the form in which it is stored; None if the text is no id."""
    bare = written.replace("-", "")
    return TemplateId(str(UUID(bare))) if _UUID.fullmatch(bare) else None


def identity(name: str, written: str) -> str:
    """Return what names a template: an id, or else a name. ``name``: of the parameter, for the message."""
    if template_id := as_id(written):
        return template_id
    if not _NAME.fullmatch(written):
        raise Fault(f"Expected UUID or name for {name}: {written[:_SHOWN]}")
    return written


async def body(req: falcon.asgi.Request, limit: int) -> bytes:
    """Return the body as it was sent; raises as ``http.reading.read_body``."""
    if req.content_length and not req.content_type:
        raise Fault("The header Content-Type is missing: the body must be application/json.")
    return await read_body(req, limit)


def parsed(req: falcon.Request, sent: bytes) -> Any:
    """Return the JSON value of a body; raises NotJson and TooDeep."""
    if _depth(sent) > _DEEPEST:
        raise TooDeep(f"The body is nested deeper than {_DEEPEST} levels.")
    return parse_value(req.path, sent)


def _depth(sent: bytes) -> int:
    """Return how deep brackets are nested, outside of texts."""
    level = deepest = 0
    for token in re.finditer(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', sent, re.DOTALL):
        if token[0] in (b"[", b"{"):
            level += 1
            deepest = max(deepest, level)
        elif token[0] in (b"]", b"}"):
            level -= 1
    return deepest
