"""Reading what callers send: bodies within bounds, JSON without surprises, parameters with a type."""

import json
import math
import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import falcon
import falcon.asgi

from shipyard_api.api.http.errors import (
    BodyEncoded,
    BodyIncomplete,
    BodyTooLarge,
    JsonRequired,
    NotAnObject,
    NotJson,
    SchemaViolated,
)
from shipyard_api.api.http.threads import threaded_body
from shipyard_api.domain.error_kinds import Invalid
from shipyard_api.ports.schemas import Schemas

E = TypeVar("E", bound=Enum)

# As deep as a YAML document may be. Every later reader of the value is left room, whatever the depth of its own stack.
_DEEPEST = 64
# Larger ones mean nothing in any field, and readers in other languages lose their digits.
_LARGEST = 2**63 - 1
# Values in lists and objects of one body: each takes some hundred bytes, and time of every later reader.
_MOST_VALUES = 1_000_000
_LONGEST_COUNT = 18
# How Python refuses a number whose conversion takes too long.
_TOO_LONG = re.compile(r"Exceeds the limit \((\d+) digits\) .*value has (\d+) digits")


async def read_body(req: falcon.asgi.Request, limit: int) -> bytes:
    """Return the whole body. Raises BodyEncoded and BodyTooLarge before it reads one, and BodyIncomplete."""
    coding = req.get_header("Content-Encoding")
    if coding and coding.strip().lower() != "identity":
        raise BodyEncoded(coding)
    length = req.content_length or 0
    if length > limit:
        raise BodyTooLarge(length, limit)
    body: bytes = await req.stream.read(length) if length else b""
    if len(body) != length:
        raise BodyIncomplete(length, len(body))
    return body


async def read_json_body(req: falcon.asgi.Request, limit: int) -> bytes:
    """Return the body of a request that needs a JSON body; raises JsonRequired, and as ``read_body``."""
    media = (req.content_type or "").partition(";")[0].strip().lower()
    if media != falcon.MEDIA_JSON or not req.content_length:
        raise JsonRequired(req.path)
    return await read_body(req, limit)


threaded_json = threaded_body(read_json_body)
"""Makes responders as ``threaded`` does of those that need a JSON body, which they take."""


def parse_json(path: str, body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; raises NotJson, which says where it is wrong, and NotAnObject."""
    value = parse_value(path, body)
    if not isinstance(value, dict):
        raise NotAnObject()
    return value


def parse_value(path: str, body: bytes) -> Any:
    """Return the JSON value of a body; raises NotJson."""
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
        _check_storable(value)
    except (ValueError, RecursionError) as error:
        detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        if match := _TOO_LONG.match(detail):
            detail = f"a number of {match[2]} digits; at most {match[1]} are read"
        raise NotJson(path, detail) from error
    return value


def parse_checked(path: str, body: bytes, schemas: Schemas, schema: str) -> dict[str, Any]:
    """Return the JSON object of a body that fits a schema; raises SchemaViolated, and as ``parse_json``."""
    value = parse_json(path, body)
    faults = schemas.check(schema, value)
    if faults:
        raise SchemaViolated(faults)
    return value


def single(req: falcon.Request, name: str) -> str | None:
    """Return a parameter that has one value; an empty one counts as absent."""
    given = req.get_param_as_list(name) or []
    if len(given) > 1:
        raise falcon.HTTPInvalidParam(f"The parameter takes one value, not {len(given)}.", name)
    return given[0] if given else None


def is_empty(req: falcon.Request, name: str) -> bool:
    """Return whether a parameter is there without a value; other functions take it for absent."""
    given = parse_qsl(req.query_string, keep_blank_values=True)
    return any(key == name and not value.strip(", ") for key, value in given)


def boolean(req: falcon.Request, name: str, default: bool | None) -> bool | None:
    """Return a boolean parameter in any of the spellings that clients send; empty counts as absent."""
    written = single(req, name)
    if written is None:
        return default
    if written in ("true", "True", "t", "yes", "y", "1", "on"):
        return True
    if written in ("false", "False", "f", "no", "n", "0", "off"):
        return False
    raise falcon.HTTPInvalidParam('The value of the parameter must be "true" or "false".', name)


def whole_number(req: falcon.Request, name: str, default: int, *, least: int, most: int) -> int:
    """Return an integer parameter within bounds."""
    written = single(req, name)
    if written is None:
        return default
    if not (written.isascii() and written.isdigit() and len(written) <= 10 and least <= int(written) <= most):
        raise falcon.HTTPInvalidParam(f"The value must be an integer from {least} to {most}.", name)
    return int(written)


def integer(req: falcon.Request, name: str) -> int | None:
    """Return a parameter that is any integer, None if it is absent."""
    written = single(req, name)
    if written is None:
        return None
    match = re.fullmatch(r"([+-]?)0*([0-9]+)", written)
    if match is None:
        raise falcon.HTTPInvalidParam("The value must be an integer.", name)
    # Nothing is counted that far, and Python reads no number of any length.
    return int(match[1] + match[2][:_LONGEST_COUNT])


def text(req: falcon.Request, name: str) -> tuple[str, ...]:
    """Return a repeatable parameter whose values are any text."""
    return tuple(req.get_param_as_list(name) or ())


def one_of(req: falcon.Request, name: str, kind: type[E], default: E, refuse: Callable[[str], Invalid]) -> E:
    """Return a parameter that is one of the words of an enum; neither case nor hyphens for underscores matter."""
    written = single(req, name)
    if written is None:
        return default
    try:
        return kind(written.lower().replace("-", "_"))
    except ValueError:
        raise refuse(written) from None


def is_descending(req: falcon.Request) -> bool:
    """Return whether the parameter ``order`` is desc; asc if it is absent."""
    order = single(req, "order") or "asc"
    if order not in ("asc", "desc"):
        raise falcon.HTTPInvalidParam("The order is asc or desc.", "order")
    return order == "desc"


def words(req: falcon.Request, name: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return a repeatable parameter whose values are among the allowed words."""
    given = tuple(req.get_param_as_list(name) or ())
    unknown = [word for word in given if word not in allowed]
    if unknown:
        raise falcon.HTTPInvalidParam(f"'{unknown[0]}' is none of: {', '.join(allowed)}.", name)
    return given


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add() is None
        raise ValueError(f"the key {twice[:60]!r} occurs twice in one object")
    return value


def _check_storable(value: Any) -> None:
    """Refuse what JSON can write and we could not store or show again.

    That is half characters, NUL, a nest without a floor, numbers that need more than 64 bits, and too many values.
    """
    level: list[Any] = [value]
    values = 0
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, int | float) and not -_LARGEST <= item <= _LARGEST:
                shown = str(item)
                raise ValueError(f"{_place(value, item)} is {shown[:20]}{'…' * (len(shown) > 20)}; at most {_LARGEST}")
            elif isinstance(item, dict):
                inner += item
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if not inner:
            return
        values += len(inner)
        if values > _MOST_VALUES:
            raise ValueError(f"more than {_MOST_VALUES:,} values")
        level = inner
    raise ValueError(f"nested deeper than {_DEEPEST} levels")


def _place(value: Any, wanted: Any) -> str:
    """Return the JSON pointer of an item, found by identity, for a message; the value is not too deep."""
    waiting = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if item is wanted:
            return path[:120] or "the number"
        pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        waiting += [(f"{path}/{step}", inner) for step, inner in pairs]
    return "a number"


def _check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("the character NUL cannot be stored")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is not a character; write both halves") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"the number {written[:40]} is too large")
    return number
