"""Bodies that cannot be kept or read again are refused before they are looked at, and parameters have a type."""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any

import falcon
import pytest
from falcon.testing import create_asgi_req, create_req

from shipyard_api.api.http import reading
from shipyard_api.api.http.errors import BodyEncoded, BodyIncomplete, BodyTooLarge, JsonRequired, NotAnObject, NotJson
from shipyard_api.api.http.reading import parse_json, parse_value, read_body, read_json_body
from shipyard_api.domain.error_kinds import ErrorKind, ShipyardError
from shipyard_api.domain.errors import ActionNotFound
from tests.refusals import refuses
from tests.unit.tables import every_row

LARGEST = 2**63 - 1


def test_a_body_has_at_most_a_million_values() -> None:
    assert len(parse_value("/plans", ("[" + "1," * 999_999 + "1]").encode())) == 1_000_000

    with refuses(NotJson) as refused:
        parse_value("/plans", ('{"a": [' + "[1]," * 500_000 + "[1]]}").encode())
    assert refused.value.data["detail"] == "more than 1,000,000 values"


@every_row(
    {
        "the largest number": (f"[{LARGEST}, -{LARGEST}]", [LARGEST, -LARGEST]),
        "one more": (f"{LARGEST + 1}", f"the number is {LARGEST + 1}; at most {LARGEST}"),
        "one less than the least": (f'{{"a": -{LARGEST + 1}}}', f"/a is -{LARGEST + 1}; at most {LARGEST}"),
        "a large one in a nest": (f'{{"a": [1, {{"b": 1{"0" * 20}}}]}}', f"/a/1/b is 1{'0' * 19}…; at most {LARGEST}"),
        "the second of two": (f"[1, {LARGEST + 1}]", f"/1 is {LARGEST + 1}; at most {LARGEST}"),
        "at a long address": (f'{{"{"k" * 200}": 1e19}}', f"/{'k' * 119} is 1e+19; at most {LARGEST}"),
        "a float without an end": ("[1e999]", "the number 1e999 is too large"),
        "a number of too many digits": ("1" * 5000, "a number of 5000 digits; at most 4300 are read"),
        "no number": ("[NaN]", "NaN is not JSON"),
        "64 levels": ("[" * 64 + "]" * 64, None),
        "65 levels": ("[" * 65 + "]" * 65, "nested deeper than 64 levels"),
        "65 levels of objects": ('{"a":' * 64 + "[1]" + "}" * 64, "nested deeper than 64 levels"),
        "more levels than the parser takes": ("[" * 100_000, "nested too deeply"),
        "a key twice": ('{"a": 1, "b": 2, "b": 3}', "the key 'b' occurs twice in one object"),
        "NUL in a text": (r'["\u0000"]', "the character NUL cannot be stored"),
        "NUL in a key": (r'{"\u0000": 1}', "the character NUL cannot be stored"),
        "half a character": (r'["\ud83d"]', "half of a surrogate pair is not a character; write both halves"),
        "both halves of a character": (r'["\ud83d\ude00"]', ["😀"]),
    }
)
def test_a_value_is_kept_or_the_fault_is_named(body: str, expected: Any) -> None:
    if isinstance(expected, str):
        with refuses(NotJson) as refused:
            parse_value("/plans", body.encode())
        assert refused.value.data["detail"] == expected
    else:
        assert expected in (None, parse_value("/plans", body.encode()))


def test_a_body_that_needs_an_object_is_one() -> None:
    assert parse_json("/plans", b'{"a": 1}') == {"a": 1}
    with refuses(NotAnObject):
        parse_json("/plans", b"[]")


GZIP = {"Content-Encoding": "gzip"}
JSON = {"Content-Type": "Application/JSON ; charset=utf-8"}


@every_row(
    {
        "of the largest size": (read_body, b"1234", {}, None),
        "one byte more": (read_body, b"12345", {}, BodyTooLarge),
        "none": (read_body, b"", {}, None),
        "encoded": (read_body, b"1234", GZIP, BodyEncoded),
        "encoded and too large": (read_body, b"12345", GZIP, BodyEncoded),
        "as it is": (read_body, b"1234", {"Content-Encoding": " Identity"}, None),
        "cut off": (read_body, b"123", {"Content-Length": "4"}, BodyIncomplete),
        "JSON": (read_json_body, b"1234", JSON, None),
        "JSON that is too large": (read_json_body, b"12345", JSON, BodyTooLarge),
        "no type": (read_json_body, b"1234", {}, JsonRequired),
        "another type": (read_json_body, b"1234", {"Content-Type": "text/plain"}, JsonRequired),
        "JSON without a body": (read_json_body, b"", JSON, JsonRequired),
    }
)
def test_a_body_is_read_whole_or_not_at_all(
    read: Callable[..., Any], body: bytes, headers: dict[str, str], refusal: ErrorKind[..., ShipyardError] | None
) -> None:
    length = {"Content-Length": str(len(body))} if body else {}
    req = create_asgi_req(body=body, headers=length | headers)
    if refusal is None:
        assert asyncio.run(read(req, 4)) == body
    else:
        with refuses(refusal):
            asyncio.run(read(req, 4))


class Word(Enum):
    """Some words."""

    ONE = "one"
    TWO_WORDS = "two_words"


def a_boolean(req: falcon.Request) -> bool | None:
    return reading.boolean(req, "a", default=True)


def a_count(req: falcon.Request) -> int:
    return reading.whole_number(req, "a", 7, least=2, most=3_000_000_000)


def an_integer(req: falcon.Request) -> int | None:
    return reading.integer(req, "a")


def a_word(req: falcon.Request) -> Word:
    return reading.one_of(req, "a", Word, Word.ONE, ActionNotFound)


def some_words(req: falcon.Request) -> tuple[str, ...]:
    return reading.words(req, "a", ("x", "y"))


def emptiness(req: falcon.Request) -> bool:
    return reading.is_empty(req, "a")


COUNT = 'The "a" parameter is invalid. The value must be an integer from 2 to 3000000000.'
NO_INTEGER = 'The "a" parameter is invalid. The value must be an integer.'


@every_row(
    [
        *[(a_boolean, f"a={word}", True) for word in ("true", "True", "t", "yes", "y", "1", "on")],
        *[(a_boolean, f"a={word}", False) for word in ("false", "False", "f", "no", "n", "0", "off")],
        (a_boolean, "", True),
        (a_boolean, "a=", True),
        (a_boolean, "a=maybe", 'The "a" parameter is invalid. The value of the parameter must be "true" or "false".'),
        (a_boolean, "a=1&a=1", 'The "a" parameter is invalid. The parameter takes one value, not 2.'),
        (a_count, "", 7),
        (a_count, "a=2", 2),
        (a_count, "a=3000000000", 3_000_000_000),
        (a_count, "a=1", COUNT),
        (a_count, "a=3000000001", COUNT),
        (a_count, "a=00000000002", COUNT),
        (a_count, "a=x", COUNT),
        (a_count, "a=%D9%A3", COUNT),  # a digit that is not ASCII
        (a_count, "a=%C2%B2", COUNT),
        (an_integer, "", None),
        (an_integer, "a=-007", -7),
        (an_integer, "a=0", 0),
        (an_integer, f"a=%2B{'1' * 30}", int("1" * 18)),
        (an_integer, "a=1x", NO_INTEGER),
        (an_integer, "a=-", NO_INTEGER),
        (a_word, "", Word.ONE),
        (a_word, "a=Two-Words", Word.TWO_WORDS),
        (some_words, "", ()),
        (some_words, "a=y&a=x", ("y", "x")),
        (some_words, "a=x&a=z&a=v", "The \"a\" parameter is invalid. 'z' is none of: x, y."),
        (emptiness, "", False),
        (emptiness, "a=1", False),
        (emptiness, "b=", False),
        (emptiness, "a", True),
        (emptiness, "b=1&a=,%20", True),
        (emptiness, "a=1&a=", True),
        (reading.is_descending, "", False),
        (reading.is_descending, "order=asc", False),
        (reading.is_descending, "order=desc", True),
        (reading.is_descending, "order=down", 'The "order" parameter is invalid. The order is asc or desc.'),
    ]
)
def test_a_parameter_has_its_type_or_is_refused(
    read: Callable[[falcon.Request], Any], query: str, expected: Any
) -> None:
    options = falcon.RequestOptions()
    options.auto_parse_qs_csv = options.keep_blank_qs_values = False  # as in each of our apps
    req = create_req(query_string=query, options=options)
    if isinstance(expected, str):
        with pytest.raises(falcon.HTTPInvalidParam) as refused:
            read(req)
        assert refused.value.description == expected
    else:
        found = read(req)
        assert (found, type(found)) == (expected, type(expected))


def test_a_word_that_is_unknown_is_refused_as_it_was_written() -> None:
    with refuses(ActionNotFound, match="Not-There"):
        a_word(create_req(query_string="a=Not-There"))
