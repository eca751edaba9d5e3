"""The value of one scalar: YAML 1.1, as far as JSON can represent it.

``no`` is false and ``0o17`` a text, because every other tool reads existing site definitions that way. PyYAML's own
tables and number readers are used, so that our values equal PyYAML's.
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
# Python refuses longer numbers, and base 60 (1:30:00) takes quadratic time.
_DIGITS = sys.int_info.default_max_str_digits
_TOO_LARGE = 10**_DIGITS


class UnfitError(ValueError):
    """A scalar does not fit its tag, or JSON cannot represent it."""


def resolve(text: str) -> str:
    """Return the tag of a scalar without quotes and without a tag."""
    if len(text) > _DIGITS and ":" in text:
        return STR  # too long for base 60, whose pattern would take 80 bytes of memory per character
    for tag, pattern in _PLAIN.get(text[:1], ()):
        if pattern.match(text):
            # The only other tag is that of "=", an old default value; PyYAML fails on it, and authors mean text.
            return tag if tag in (INT, FLOAT, BOOL, NULL, TIMESTAMP, MERGE) else STR
    return STR


def text_of(text: str) -> str:
    """Return a text that can be stored; raises UnfitError."""
    if "\0" in text:
        raise UnfitError("the character NUL cannot be stored")
    return text


def value_of(text: str, tag: str) -> Any:
    """Return the JSON value of a scalar. Raises UnfitError, without quoting the text: it may be secret."""
    if tag in (INT, FLOAT):
        return _number(text, tag)
    if tag == BOOL and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if tag == NULL and resolve(text) == NULL:
        return None
    if tag == TIMESTAMP and yaml.SafeLoader.timestamp_regexp.match(text):
        return text  # JSON has no dates, and parsing and formatting a date often changes its text
    if tag == STR:
        return text_of(text)
    if tag in (BOOL, NULL, TIMESTAMP):
        raise UnfitError(f"the text behind {short_tag(tag)} is none")
    raise UnfitError(f"the tag {short_tag(tag)} is not one of a value that JSON can hold")


def key_text(value: str | float | None) -> str:
    """Return the text of a key. JSON keys are text, so ``1`` and ``"1"`` are equal."""
    return value if isinstance(value, str) else json.dumps(value)


def short_tag(tag: str) -> str:
    """Return a tag in its short form, for a message."""
    return clip("!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag)


def clip(text: str) -> str:
    """Return a text of the stream for a message: one line, printable, at most 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _number(text: str, tag: str) -> int | float:
    if len(text) > _DIGITS:
        raise UnfitError(f"a number of {len(text):,} characters; at most {_DIGITS:,} are read")
    if tag == INT and text.isdecimal() and text.isascii() and text[0] != "0":
        return int(text)
    node = yaml.ScalarNode(tag, text)
    number: int | float
    try:
        number = _NUMBERS.construct_yaml_int(node) if tag == INT else _NUMBERS.construct_yaml_float(node)
    except OverflowError:
        number = math.inf
    except (ValueError, IndexError):
        raise UnfitError(f"the text behind {short_tag(tag)} is none") from None
    if isinstance(number, int):
        if abs(number) >= _TOO_LARGE:  # short in base 16, but too long for Python in base 10
            raise UnfitError(f"a number of more than {_DIGITS:,} digits")
    elif math.isnan(number):
        raise UnfitError("not a number (NaN), which JSON cannot hold")
    elif math.isinf(number):
        raise UnfitError("infinity, or a number too large for a float; JSON can hold neither")
    return number
