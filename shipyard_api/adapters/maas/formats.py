"""What of BSON and of long JSON lists MAAS answers with: details of machines, and all machines in one answer."""

import codecs
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping

from shipyard_api.domain.json_types import JsonObject

_TEXT, _BYTES, _NULL = 0x02, 0x05, 0x0A


def document(content: bytes) -> Mapping[str, bytes]:
    """Return the byte strings of a document by name, up to the first element of another type or a broken one."""
    elements: dict[str, bytes] = {}
    at = 4  # after the length of the document
    try:
        while content[at]:
            kind, end = content[at], content.index(0, at + 1)
            name, at = content[at + 1 : end].decode("utf-8", "replace"), end + 1
            if kind == _NULL:
                continue
            if kind not in (_TEXT, _BYTES):
                break
            (length,) = struct.unpack_from("<i", content, at)
            at += 4 + (kind == _BYTES)  # a byte string has a subtype
            if length < 0 or at + length > len(content):
                break
            elements[name] = content[at : at + length].removesuffix(b"\0" if kind == _TEXT else b"")
            at += length
    except (IndexError, ValueError, struct.error):
        pass
    return elements


_BETWEEN = re.compile(r"[\s,]*")


def objects(pieces: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yield the objects of a JSON list, each once it has arrived; other items are skipped. Raises ValueError."""
    decode, parse = codecs.getincrementaldecoder("utf-8")().decode, json.JSONDecoder().raw_decode
    text, begun = "", False
    for piece in pieces:
        text += decode(piece)
        if not begun and (text := text.lstrip()):
            if text[0] != "[":
                raise ValueError("not a JSON list")
            text, begun = text[1:], True
        at = 0
        while begun:
            at = _end(text, at)
            try:
                item, at = parse(text, at)
            except ValueError:
                break  # not all of it has arrived, or the list ends
            if isinstance(item, dict):
                yield item
        text = text[at:]
    if not begun or text.strip() != "]":
        raise ValueError("not a whole JSON list")


def _end(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
