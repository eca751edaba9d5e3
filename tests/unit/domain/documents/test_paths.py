"""The language of places: what is read, what is refused and where the fault is, and where a path leads."""

from typing import Any

import pytest

from shipyard_api.domain.documents.paths import (
    MISSING,
    Below,
    Elements,
    Every,
    Fields,
    PathError,
    Range,
    parse_action_path,
    parse_path,
    places,
    pointer,
    read,
)
from tests.unit.tables import every_row

READ = [
    (".", ()),
    ("$", ()),
    (".a", ("a",)),
    ("a", ("a",)),
    (".a.b.c", ("a", "b", "c")),
    ("a.b", ("a", "b")),
    (".@a", ("@a",)),
    (".12", ("12",)),
    (".a.0.b", ("a", "0", "b")),
    (".'a.b'", ("a.b",)),
    ('."a/b"', ("a/b",)),
    ('["a b"]', ("a b",)),
    (r".'it\'s'", ("it's",)),
    (".['a]b']", ("a]b",)),
    (".a[0]", ("a", 0)),
    ("[0]", (0,)),
    (".a[0][1]", ("a", 0, 1)),
    (".a[-1]", ("a", -1)),
    (".a[*]", ("a", Every())),
    (".*", (Fields(),)),
    ("..a", (Below(), "a")),
    (".a..b", ("a", Below(), "b")),
    ("..[0]", (Below(), 0)),
    (".a[0:2]", ("a", Range(0, 2))),
    (".a[1:]", ("a", Range(1, None))),
    (".a[:-1]", ("a", Range(None, -1))),
    (".a[0,-1]", ("a", Elements((0, -1)))),
]


@every_row(READ)
def test_a_path_is_read(text: str, steps: tuple[Any, ...]) -> None:
    path = parse_path(text)

    assert path.steps == steps
    assert path.text == text


REFUSED = [
    ("", "empty path"),
    (" ", "character 1"),
    ("..", "character 3"),
    (".a.1b", "character 4"),
    (".a,b", "character 3"),
    ("$a", "character 2"),
    (".a[", "character 3"),
    (".a[0]b", "character 6"),
    (".a[::2]", "character 3"),
    (".a['b'", "character 7"),
    (".'a", "character 2"),
    (".'a'b", "character 5"),
    (".a[?(@.b == 1)]", "character 3"),
    (".`this`", "character 2"),
    (".a[10000]", "10000"),
    ("." + "a" * 1024, "1025 characters"),
    ("..a..b..c", "two dots"),
]


@every_row(REFUSED)
def test_what_is_no_path_is_refused_with_the_position(text: str, where: str) -> None:
    with pytest.raises(PathError, match=where):
        parse_path(text)


@every_row(
    [
        (".", ()),
        ("$", ()),
        ("", ()),
        (".data", ()),
        ("data", ()),
        (".data.a", ("a",)),
        (".data[0]", (0,)),
        (".data['a']", ("a",)),
        (".data.data", ("data",)),
        ("a.b", ("a", "b")),
        (".data-x", ("data-x",)),
        (".a.data", ("a", "data")),
        (".'data'", ("data",)),
        ("[0]", (0,)),
    ],
)
def test_the_path_of_an_action_may_begin_with_the_word_data(text: str, steps: tuple[Any, ...]) -> None:
    assert parse_action_path(text).steps == steps


@every_row(["$$", ".data..", "$data x", ".a[", ". "])
def test_the_path_of_an_action_is_refused_like_any_other(text: str) -> None:
    with pytest.raises(PathError):
        parse_action_path(text)


VALUE = {
    "a": {"b": [1, {"c": 2}, [3, None]], "0": "zero", "n": None, "e": {}},
    "a.b": 4,
    "t": "text",
    "l": [{"x": 1}, {"x": 2}, {"y": 3}],
}

LEADS = [
    (".", [VALUE]),
    (".a.0", ["zero"]),
    (".a.n", [None]),
    (".'a.b'", [4]),
    (".a.b[0]", [1]),
    (".a.b[-1][0]", [3]),
    (".a.b[3]", []),
    (".t[*]", []),
    (".a[*]", []),
    (".l.*", []),
    (".l[*].x", [1, 2]),
    (".l[1:]", [{"x": 2}, {"y": 3}]),
    (".l[0,2]", [{"x": 1}, {"y": 3}]),
    (".l[0,-3]", [{"x": 1}, {"x": 1}]),
    ("..x", [1, 2]),
    ("$.a..[1]", [{"c": 2}, None]),
]


@every_row(LEADS)
def test_where_a_path_leads(text: str, values: list[Any]) -> None:
    path = parse_path(text)

    assert read(path, VALUE) == (values[0] if values else MISSING)
    found = places(path, VALUE)
    assert len(set(found)) == len(found)
    assert [read(parse_path("$" + "".join(f"[{step!r}]" for step in place)), VALUE) for place in found] == (
        values[:1] if text == ".l[0,-3]" else values
    )


def test_a_value_of_another_type_is_not_taken_for_a_container() -> None:
    for value in (None, "text", 3, True):
        for text in (".a", "[0]", "[*]", ".*", "..a", "[0:1]", "[0,1]"):
            assert read(parse_path(text), value) is MISSING


def test_a_step_of_digits_is_a_key_and_a_number_in_brackets_an_element() -> None:
    assert read(parse_path(".0"), ["x"]) is MISSING
    assert read(parse_path("[0]"), {"0": "x"}) is MISSING


def test_pointers_escape_what_has_a_meaning_in_them() -> None:
    assert pointer(()) == ""
    assert pointer(("a", 0, "b/c~d", "")) == "/a/0/b~1c~0d/"


def test_only_paths_to_one_place_are_plain() -> None:
    assert parse_path(".a[0].'b'").is_plain
    assert parse_path(".").is_plain
    assert not any(parse_path(text).is_plain for text in (".a[*]", ".*", "..a", ".a[0:1]", ".a[0,1]"))
