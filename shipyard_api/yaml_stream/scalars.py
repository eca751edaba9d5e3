"""What one scalar means: the words of YAML 1.1, as far as JSON can hold them.

``no`` is false and ``0o17`` a text, because that is how every other tool reads existing site definitions. PyYAML's
own tables and number readers are used, so that its meaning is ours.
"""

import json
import math
import re
import sys
from typing import Any

import yaml

_CORE = "tag:yaml.org,2002:"
STR, INT, FLOAT, BOOL, NULL, TIMESTAMP, MERGE, MAP, SEQ = (
    _CORE + kind for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge", "map", "seq")
)

_PLAIN: dict[str, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers
_BOOLEANS = yaml.SafeLoader.bool_values
_NUMBERS = yaml.constructor.SafeConstructor()
# Python refuses longer ones, and base 60 (1:30:00) takes time by the square of the length.
_DIGITS = sys.int_info.default_max_str_digits
_TOO_LARGE = 10**_DIGITS


class UnfitError(ValueError):
    """A scalar is not what its tag says, or is what JSON cannot hold."""


def resolve(text: str) -> str:
    """Return the tag of a scalar that was written without quotes and without a tag."""
    if len(text) > _DIGITS and ":" in text:
        return STR  # no base 60 is so long, and the pattern for it takes eighty bytes of memory for each of the text
    for tag, pattern in _PLAIN.get(text[:1], ()):
        if pattern.match(text):
            # The rest is "=", an old way to give a default value; PyYAML fails on it, everyone means the text.
            return tag if tag in (INT, FLOAT, BOOL, NULL, TIMESTAMP, MERGE) else STR
    return STR


def value_of(text: str, tag: str) -> Any:
    """Return what JSON holds for a scalar. Raises UnfitError, without the text: it may be a secret."""
    if tag in (INT, FLOAT):
        return _number(text, tag)
    if tag == BOOL and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if tag == NULL and resolve(text) == NULL:
        return None
    if tag == TIMESTAMP and yaml.SafeLoader.timestamp_regexp.match(text):
        return text  # JSON has no dates, and a date made and written again is often not the same text
    if tag == STR:
        if "\0" in text:
            raise UnfitError("the character NUL cannot be stored")
        return text
    if tag in (BOOL, NULL, TIMESTAMP):
        raise UnfitError(f"the text behind {short_tag(tag)} is none")
    raise UnfitError(f"the tag {short_tag(tag)} is not one of a value that JSON can hold")


def key_text(value: str | float | None) -> str:
    """Return the text of a key. JSON knows no other keys, so ``1`` and ``"1"`` are one."""
    return value if isinstance(value, str) else json.dumps(value)


def short_tag(tag: str) -> str:
    """Return a tag as people write it, fit for a message."""
    return clip("!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag)


def clip(text: str) -> str:
    """Return a text from the stream fit for a message: one line, printable, not long."""
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _number(text: str, tag: str) -> int | float:
    if len(text) > _DIGITS:
        raise UnfitError(f"a number of {len(text):,} characters; at most {_DIGITS:,} are read")
    node = yaml.ScalarNode(tag, text)
    number: int | float
    try:
        number = _NUMBERS.construct_yaml_int(node) if tag == INT else _NUMBERS.construct_yaml_float(node)
    except OverflowError:
        number = math.inf
    except (ValueError, IndexError):
        raise UnfitError(f"the text behind {short_tag(tag)} is none") from None
    if isinstance(number, int):
        if abs(number) >= _TOO_LARGE:  # short in base 16, and longer in base 10 than Python agrees to write
            raise UnfitError(f"a number of more than {_DIGITS:,} digits")
    elif math.isnan(number):
        raise UnfitError("not a number (NaN), which JSON cannot hold")
    elif math.isinf(number):
        raise UnfitError("infinity, or a number too large for a float; JSON can hold neither")
    return number
