"""JSON from documents, rows and peers, and how to read it without a schema."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeGuard

_ITEM = re.compile(r"[^\s,]")

JsonObject = Mapping[str, Any]
"""A JSON object whose shape is known elsewhere: a schema, a codec, or the peer."""


def member(value: object, *path: str) -> Any:
    """Return the value at a path of keys; None if a key is missing, or a value on the way is no object."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def objects(value: object) -> list[JsonObject]:
    """Return the objects in a list; none if the value is no list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the texts in a list; none if the value is no list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def are_texts(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list that has only texts."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def streamed_objects(pieces: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yield the objects of a JSON list in pieces, each once it has arrived, no other items. Raises ValueError."""
    decode, parse = codecs.getincrementaldecoder("utf-8")().decode, json.JSONDecoder().raw_decode
    text, begun, enough = "", False, 0
    for piece in chain(pieces, [None]):
        text += decode(piece or b"")
        if piece is not None and len(text) < enough:
            continue  # a large item is not parsed again with every piece
        if not begun and (text := text.lstrip()):
            if text[0] != "[":
                raise ValueError("not a JSON list")
            text, begun = text[1:], True
        at = 0
        while begun and (start := _ITEM.search(text, at)):
            at = start.start()
            try:
                item, at = parse(text, at)
            except ValueError:
                break  # not all of it has arrived, or the list ends
            if isinstance(item, dict):
                yield item
        text = text[at:]
        enough = 2 * len(text)
    if not begun or text.strip() != "]":
        raise ValueError("not a whole JSON list")
