"""A JSON list that is parsed while it arrives: MAAS lists all machines in one answer, 180 MB for 10,000."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator

from shipyard_api.domain.json_types import JsonObject

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
