"""Reading requests: ids in addresses, names in queries and bodies, bodies of a form."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import falcon
import falcon.asgi

from shipyard_api.api.http import threads
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.reading import parse_value, read_body, single
from shipyard_api.domain.task_graph.errors import OwnerNotFound
from shipyard_api.domain.task_graph.layers import Owner, OwnerKind

_SHOWN = 60
_LARGEST = 2**31 - 1


def owner(kind: OwnerKind, written: str) -> Owner:
    """Return the release or cluster of an address; raises OwnerNotFound if it is not an id."""
    if not re.fullmatch(r"[0-9]{1,10}", written, re.ASCII) or not 0 < int(written) <= _LARGEST:
        raise OwnerNotFound(Owner(kind, 0))
    return Owner(kind, int(written))


async def body(req: falcon.asgi.Request, limit: int) -> bytes:
    """Return a body that is not empty; raises as ``http.reading.read_body``."""
    sent = await read_body(req, limit)
    if not sent.strip():
        raise Fault("Empty request received")
    return sent


threaded_body = threads.threaded_body(body)
"""Makes responders as ``threaded`` does of those that need a body, which they take."""


def value(req: falcon.Request, sent: bytes) -> Any:
    """Return the JSON value of a body; raises NotJson."""
    return parse_value(req.path, sent)


def mapping(body: Any, known: Mapping[str, type], ignored: Collection[str] = ()) -> dict[str, Any]:
    """Return an object with members of these types. ``ignored``: members that answers have and requests may repeat."""
    if not isinstance(body, dict):
        raise Fault("The body is not a JSON object.")
    if unknown := [name[:_SHOWN] for name in body if name not in known and name not in ignored]:
        raise Fault(f"The body has unknown members: {', '.join(unknown)}. It may have {', '.join(known)}.")
    for name, kind in known.items():
        value = body.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool) != (kind is bool)):
            wanted = {str: "a text", dict: "an object", list: "a list", int: "a whole number", bool: "true or false"}
            raise Fault(f"'{name}' is not {wanted[kind]}.")
    return {name: body.get(name) for name in known}


def names(entries: Any, what: str) -> list[str]:
    """Return a list of names."""
    if not isinstance(entries, list) or not all(isinstance(entry, str) and entry for entry in entries):
        raise Fault(f"{what} are a list of names.")
    return list(dict.fromkeys(entries))


def separated(req: falcon.Request, name: str) -> tuple[str, ...] | None:
    """Return a parameter with several values, repeated or separated by commas; None if it is absent."""
    written = req.get_param_as_list(name)
    if written is None:
        return None
    return tuple(name.strip() for part in written for name in part.split(",") if name.strip())


def either(req: falcon.Request, first: str, second: str) -> str | None:
    """Return a parameter with two spellings; None if it is absent."""
    numbers = {single(req, first), single(req, second)} - {None}
    if len(numbers) > 1:
        raise Fault(f"'{first}' and '{second}' are the same parameter, and their values differ.")
    return next(iter(numbers), None)
