"""Make what a node printed harmless: printable, in valid Unicode, without the secrets of the task. Pure.

The user of a node controls these bytes, and operators read them in terminals and browsers.
"""

import re
from collections.abc import Iterable, Sequence

from shipyard_api.domain.exact_secrets import HIDDEN
from shipyard_api.observing.scrubbing import SHORTEST, Scrubber, forms

_ESCAPES = re.compile(
    # Strings for the terminal (titles, links, …) with their end, sequences with parameters, the rest. A string that
    # nothing ends must not hide the lines that follow.
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_LINES = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters, and those that change the direction or the visibility of text.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def printable(data: bytes) -> str:
    """Return bytes as text of lines, without terminal escapes; invalid UTF-8 is replaced."""
    text = _ESCAPES.sub("", data.decode("utf-8", "replace"))
    return _CONTROLS.sub("", _LINES.sub("\n", text))


def margin(secrets: Iterable[str]) -> int:
    """Return how many bytes before and after a part must be known, to see every secret that is cut by its ends."""
    return max((len(form) for form in _forms(secrets)), default=0)


def readable(data: bytes, secrets: Sequence[str], *, before: int = 0, after: int = 0, open_end: bool = False) -> str:
    """Return a part of an output as text without secrets.

    ``before`` and ``after``: how many bytes of ``data`` are only there for secrets that reach into the part. A
    character belongs to the part in which it begins. ``open_end``: more may follow, so the end may be the beginning of
    a secret.
    """
    start, stop = _characters(data, before, len(data) - after)
    hidden: list[tuple[int, int]] = []
    for form in _forms(secrets):
        at = data.find(form)
        while at >= 0:
            hidden.append((at, at + len(form)))
            at = data.find(form, at + 1)
        if open_end:
            known = next((size for size in range(len(form) - 1, SHORTEST - 1, -1) if data.endswith(form[:size])), 0)
            hidden += [(len(data) - known, len(data))] if known else []
    pieces, at = [], start
    for begin, end in sorted(hidden):
        begin, end = max(begin, at), min(end, stop)
        if begin < end:
            pieces += [data[at:begin], HIDDEN.encode()]
            at = end
    pieces.append(data[at:stop])
    # Secrets with escapes in them show only now.
    return Scrubber(*secrets)(printable(b"".join(pieces)))


def unfinished(data: bytes) -> int:
    """Return how many bytes at the end of an output that goes on are the beginning of a character or of a line end."""
    if data.endswith(b"\r"):
        return 1
    for size in range(1, min(3, len(data)) + 1):
        first = data[-size]
        if first & 0xC0 != 0x80:
            return size if first >= 0xC0 and size < (2 + (first >= 0xE0) + (first >= 0xF0)) else 0
    return 0


def detail(data: bytes, secrets: Sequence[str] = (), longest: int = 300) -> str:
    """Return what a node said about a failure, on one line."""
    return " ".join(readable(data[: 10 * longest], secrets).split())[:longest]


def _forms(secrets: Iterable[str]) -> list[bytes]:
    return [form.encode("utf-8", "replace") for form in forms(secrets)]


def _characters(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """Move both ends of a part behind a character that they cut."""
    ends = []
    for end in (start, stop):
        moved = end
        while end > 0 and moved < min(end + 3, len(data)) and data[moved] & 0xC0 == 0x80:
            moved += 1
        ends.append(moved)
    return ends[0], ends[1]
