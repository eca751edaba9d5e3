"""Regular expressions from documents, with limits on time and size.

The library ``regex`` has Python's syntax and a timeout; ``re`` has none (ADR 0009).
"""

import math
import re
from functools import lru_cache
from typing import Any

_TIMEOUT = 1.0  # seconds for all matches of one pattern in one text
_LONGEST_PATTERN = 1024
_REPEATED = re.compile(r"\{\s*0*([1-9][0-9]*)")
_MOST_REPEATED = 10_000
LONGEST_TEXT = 8 * 1024 * 1024


class PatternError(ValueError):
    """The pattern cannot be used; the text says why, without quoting the text that it was matched with."""


def check_pattern(pattern: str) -> int:
    """Return the number of groups; raises PatternError if it is not a regular expression."""
    return int(_compiled(pattern).groups)


def search(pattern: str, group: int, text: str) -> str | None:
    """Return the group of the first match, None without one; raises PatternError if that takes too long."""
    try:
        match = _compiled(pattern).search(text, timeout=_TIMEOUT)
    except TimeoutError:
        raise PatternError(f"the pattern took longer than {_TIMEOUT:g} s") from None
    return None if match is None else str(match.group(group) or "")


def replace_all(pattern: str, value: str, text: str) -> str:
    """Return the text with every match replaced by the literal value.

    Raises PatternError if that takes too long, or if the result would exceed LONGEST_TEXT characters.
    """
    pieces: list[str] = []
    size = end = 0
    try:
        for match in _compiled(pattern).finditer(text, timeout=_TIMEOUT):
            start, after = match.span()
            pieces += (text[end:start], value)
            size += start - end + len(value)
            if size > LONGEST_TEXT:
                raise PatternError(f"the text would have more than {LONGEST_TEXT} characters")
            end = after
    except TimeoutError:
        raise PatternError(f"the pattern took longer than {_TIMEOUT:g} s") from None
    pieces.append(text[end:])
    return "".join(pieces)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    import regex  # imported late: only designs with patterns need it

    if len(pattern) > _LONGEST_PATTERN:
        raise PatternError(f"a pattern of {len(pattern)} characters; at most {_LONGEST_PATTERN} are read")
    # Nested fixed repetitions are expanded when compiled: (?:a{1000}){1000} takes 300 MB.
    if math.prod(map(int, _REPEATED.findall(pattern))) > _MOST_REPEATED:
        raise PatternError(f"its repetitions come to more than {_MOST_REPEATED:,}")
    try:
        return regex.compile(pattern, regex.VERSION0)
    except (regex.error, ValueError, OverflowError, RecursionError) as invalid:
        raise PatternError(str(invalid)) from None
