"""JSON schemas that come with a design: draft 4 always, nothing fetched, and both libraries say the same."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_api.adapters.schema_files import data_schemas
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas, compiled
from tests.unit.tables import every_row


@pytest.fixture(params=["fast", "reference"])
def compile_schema(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The whole way from a schema to a check, with either library."""
    if request.param == "reference":

        def not_installed(schema: Any) -> None:
            raise ImportError

        monkeypatch.setattr(data_schemas, "_fast", not_installed)
    return compiled


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """An address and what was sent to it."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        done = threading.Event()

        def listen() -> None:
            while not done.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                heard.append(b"connected")
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema", heard
        done.set()
        thread.join()


def places(check: Any, value: Any) -> set[tuple[str, str]]:
    return {(fault.path, fault.rule) for fault in check(value)}


DIALECTS = [
    "http://json-schema.org/schema#",
    "http://json-schema.org/draft-03/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "http://nobody.example/at/all",
    "no address",
    "",
]


def test_draft_4_is_applied_whatever_the_schema_calls_itself(compile_schema: Any) -> None:
    later = {"const": 1, "if": {}, "then": False, "contains": {"type": "null"}, "exclusiveMinimum": True, "minimum": 2}
    for dialect in DIALECTS:
        inner = {"$schema": dialect, **later}
        for schema in (inner, {"properties": {"a": inner}}, {"definitions": {"a": inner}, "$ref": "#/definitions/a"}):
            assert compile_schema(schema)({"a": 3}) == [], dialect
        assert places(compile_schema(inner), 2) in ({("", "/minimum")}, {("", "/exclusiveMinimum")}), dialect


def test_a_property_may_be_called_schema_like_the_word(compile_schema: Any) -> None:
    check = compile_schema({"properties": {"$schema": {"type": "string"}}})

    assert places(check, {"$schema": 3}) == {("/$schema", "/properties/$schema/type")}


def test_formats_are_ignored(compile_schema: Any) -> None:
    for form in ("ipv4", "ipv6", "email", "date-time", "uri", "hostname", "regex", "uuid", "nonsense"):
        assert compile_schema({"format": form})("not ( at all") == [], form


DANGLING = ["#/definitions/nobody", "#/nothing", "#/properties/a/b", "#nobody", "#/definitions/x/3"]


def test_a_reference_that_leads_nowhere_matters_only_where_it_is_visited(compile_schema: Any) -> None:
    for reference in DANGLING:
        parts = {"a": {"$ref": reference}, "b": {"type": "string"}}
        check = compile_schema({"properties": parts, "definitions": {"x": {}}})
        assert check({}) == [], reference
        assert places(check, {"b": 1}) == {("/b", "/properties/b/type")}, reference
        assert {path for path, _ in places(check, {"a": 1})} == {"/a"}, reference


def test_references_within_the_schema_are_followed(compile_schema: Any) -> None:
    text: dict[str, Any] = {"type": "string"}
    for reference in ("#/definitions/a", "#/definitions/b~1c", "#/definitions/d%20e", "#/items/0", "#named", "#"):
        check = compile_schema(
            {
                "definitions": {"a": text, "b/c": text, "d e": text, "n": {"id": "#named", **text}},
                "items": [text],
                "type": ["object", "string"],
                "properties": {"x": {"$ref": reference}},
            }
        )
        assert check({"x": "text"}) == [], reference
        assert {path for path, _ in places(check, {"x": 3})} == {"/x"}, reference


def test_what_only_looks_like_a_reference_is_none(compile_schema: Any) -> None:
    check = compile_schema(
        {"properties": {"$ref": {"type": "string"}, "a": {"enum": [{"$ref": "#/nowhere"}, {"$schema": "x"}]}}}
    )

    assert check({"$ref": "x", "a": {"$ref": "#/nowhere"}}) == []
    assert check({"a": {"$schema": "x"}}) == []
    assert places(check, {"$ref": 3}) == {("/$ref", "/properties/$ref/type")}
    assert places(check, {"a": {}}) == {("/a", "/properties/a/enum")}


ELSEWHERE = ("http://x.example/y", "other.json", "other.json#/a", "file:///etc/passwd", "urn:a:b", "//x/y", "")


@every_row(ELSEWHERE)
def test_a_reference_to_elsewhere_is_refused(reference: str) -> None:
    for schema in ({"$ref": reference}, {"items": [{"not": {"$ref": reference}}]}):
        with pytest.raises(ValueError, match="another address"):
            compiled(schema)


def test_nothing_is_ever_fetched(compile_schema: Any, listener: tuple[str, list[bytes]]) -> None:
    address, heard = listener
    elsewhere = {"$ref": address}
    for schema in (
        elsewhere,
        {"items": elsewhere},
        {"$schema": address},
        {"items": {"$schema": address, "type": "string"}},
        {"id": address, "items": {"$ref": "#/a"}},
        {"id": address, "items": {"$ref": "#a"}},
        {"items": {"id": address, "$ref": "#/a"}},
        {"definitions": {"a": {"id": address, "items": {"$ref": "#"}}}, "items": {"$ref": "#/definitions/a"}},
        {"$id": address, "$recursiveRef": address, "$dynamicRef": address},
        {"enum": [elsewhere]},
        {"links": [{"href": address, "rel": "describedby"}]},
    ):
        for _ in range(2):
            try:
                check = compile_schema(schema)
            except ValueError:
                break
            check({"a": 1})
            check([{"a": 1}, [1]])

    assert heard == []


BAD = [
    {"type": "nonsense"},
    {"type": 3},
    {"properties": []},
    {"required": True},
    {"required": []},
    {"minimum": "1"},
    {"pattern": "((("},
    {"items": 3},
    {"allOf": []},
    {"additionalProperties": "no"},
    {"definitions": {"a": 3}},
    {"properties": {"a": {"type": "nonsense"}}},
    {"$ref": "#/definitions/a", "definitions": {"a": {"minLength": -1}}},
    {"multipleOf": 0},
]


def test_what_is_no_schema_is_refused_with_a_short_reason(compile_schema: Any) -> None:
    for schema in BAD:
        with pytest.raises(ValueError, match=r"\S") as refused:
            compile_schema(schema)
        assert "\n" not in str(refused.value), schema
        assert len(str(refused.value)) <= 320, schema


CASES = [
    ({"type": "integer"}, "x"),
    ({"type": "integer"}, True),
    ({"properties": {"a/b~c": {"type": "integer"}}}, {"a/b~c": "x"}),
    ({"properties": {"a": {"items": {"minimum": 2}}}}, {"a": [1, 2, 1]}),
    ({"additionalProperties": {"type": "string"}}, {"a": 1, "b": "x", "c": 2}),
    ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1, "b": 2}),
    ({"patternProperties": {"^x": {"type": "string"}}}, {"xa": 1, "y": 1}),
    ({"required": ["a", "b"]}, {}),
    ({"enum": [1, "a", None]}, 2),
    ({"oneOf": [{"type": "string"}, {"maxLength": 2}]}, "ab"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1),
    ({"allOf": [{"type": "string"}, {"type": "null"}]}, 1),
    ({"not": {"type": "string"}}, "x"),
    ({"uniqueItems": True}, [1, 1]),
    ({"items": [{"type": "string"}], "additionalItems": False}, [1, 2]),
    ({"dependencies": {"a": ["b"]}}, {"a": 1}),
    ({"maxLength": 2, "minLength": 1, "pattern": "^a"}, "bcd"),
    ({"maxProperties": 1, "minItems": 3}, {"a": 1, "b": 2}),
    ({"type": ["string", "null"]}, []),
    ({"type": "object", "properties": {"a": {"properties": {"b": {"type": "array"}}}}}, {"a": {"b": {}}}),
    ({"maximum": 5}, 10**300),
    ({"type": "integer"}, 1.5),
]


@every_row(CASES)
def test_both_libraries_find_the_same_at_the_same_places(schema: dict[str, Any], value: Any) -> None:
    fast, reference = data_schemas._fast(schema), data_schemas._reference(schema)

    assert places(fast, value) == places(reference, value) != set()
    assert all(fault.message and "\n" not in fault.message for fault in [*fast(value), *reference(value)])


def test_references_in_a_circle_end(compile_schema: Any) -> None:
    for schema in ({"$ref": "#"}, {"definitions": {"a": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"}):
        assert len(compile_schema(schema)({"a": 1})) <= 1


def test_a_schema_that_refers_to_itself_holds_at_every_depth(compile_schema: Any) -> None:
    check = compile_schema({"type": "object", "additionalProperties": {"$ref": "#"}})
    value: Any = 3
    for _ in range(60):
        value = {"a": value}

    assert {path for path, _ in places(check, value)} == {"/a" * 60}


def doubling(levels: int, to_next: Any, last: Any) -> dict[str, Any]:
    """A schema whose definitions each refer to the next one several times, as ``to_next(reference)`` says."""
    parts = {f"d{i}": to_next({"$ref": f"#/definitions/d{i + 1}"}) for i in range(levels)}
    return {"definitions": {**parts, f"d{levels}": last}, "$ref": "#/definitions/d0"}


def nested(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = {"a": value}
    return value


TO_D0 = {"anyOf": [{"$ref": "#/definitions/d0"}] * 200}
RELATIVE = {
    "definitions": {"d0": {}, "x": {"id": "http://x/y", "definitions": {"d0": {"anyOf": [{}] * 99}}, **TO_D0}},
    "$ref": "#/definitions/x",
}


ENDLESS = {
    "allOf": (doubling(12, lambda one: {"allOf": [one] * 8}, {}), "expand to 157,073,089,682 sub"),
    "oneOf": (doubling(99, lambda one: {"not": {"oneOf": [one] * 9}}, {}), "more than a trillion"),
    "dependencies": (doubling(40, lambda one: {"dependencies": {"a": one, "b": one}}, {}), "expand to"),
    "large": (
        {"properties": {"a": doubling(1, lambda one: {}, {})} | {f"p{i}": {} for i in range(50_000)}},
        "more than 100,000 values",
    ),
    "patterns": ({"items": [{"pattern": "\\w" * 500}] * 5}, "patterns are too many or too long"),
    "a long name": ({"patternProperties": {"\\w" * 1001: {}}}, "patterns are too many or too long"),
    "references relative to an id": (RELATIVE, "expand to"),
}


@every_row(ENDLESS)
def test_a_schema_that_expands_without_measure_is_refused_before_it_is_compiled(
    schema: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        compiled(schema)


TREE = {"properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}}


CIRCLE = {"definitions": {"a": {"allOf": [{"$ref": "#/definitions/a"}] * 2}}, "$ref": "#/definitions/a"}
TOO_LONG: dict[str, tuple[dict[str, Any], Any, str]] = {
    "deeper in the value": (
        doubling(12, lambda one: {"properties": {"a": {"allOf": [one] * 8}}}, {}),
        nested(12, 1),
        "steps for this document; at most 2,000,000 are made",
    ),
    "of itself": ({"properties": {"a": {"anyOf": [{"$ref": "#"}] * 2}}}, nested(40, 1), "more than a trillion steps"),
    "a circle": (CIRCLE, 1, "lead from one to the next without end"),
    "an enum": ({"items": {"enum": [[i] for i in range(2_000)]}}, [[1]] * 2_000, "steps for this"),
    "a lookahead": ({"items": {"pattern": "(?=a*y)|z"}}, ["a" * 9_000], "steps for this document"),
    "a name": ({"patternProperties": {"(a)\\1": {}}}, {"a" * 9_000: 1}, "steps for this document"),
    "unique": ({"items": {"allOf": [{"uniqueItems": True}] * 99}}, [list(range(22_000))], "steps"),
    "many rules": ({"items": {"$ref": "#"}, **TREE}, [[i] for i in range(200_000)], "200,000 of its rules"),
    "deep": (
        doubling(1_100, lambda one: {"properties": {"a": one}, "not": {"enum": [{"$ref": "#"}]}}, TREE),
        nested(1_100, 1),
        "nested too deeply",
    ),
}


@every_row(TOO_LONG)
def test_a_value_whose_check_would_take_too_long_is_not_checked(
    schema: dict[str, Any], value: Any, reason: str
) -> None:
    (fault,) = compiled(schema)(value)

    assert reason in fault.message
    assert not fault.quotes


QUICK: dict[str, tuple[dict[str, Any], Any]] = {
    "a tree": (TREE, nested(60, 1)),
    "a lookahead": ({"items": {"pattern": "^(?!-)[a-z0-9-]{1,63}$"}}, ["node-01"] * 200),
    "a long text": ({"items": {"pattern": "^[a-z ]+$"}}, ["a" * 1_000_000]),
    "not deep": (doubling(12, lambda one: {"properties": {"a": {"allOf": [one] * 8}}}, {}), nested(4, 1)),
}


@every_row(QUICK)
def test_a_schema_is_judged_by_what_the_value_makes_of_it(schema: dict[str, Any], value: Any) -> None:
    assert compiled(schema)(value) == []


def test_a_pattern_of_a_schema_cannot_run_for_ever_in_the_library_that_is_used() -> None:
    assert {rule for _, rule in places(data_schemas._fast({"pattern": "^(a+)+$"}), "a" * 60 + "b")} == {"/pattern"}


def test_messages_are_one_line_and_cut_and_faults_are_not_endless(compile_schema: Any) -> None:
    check = compile_schema({"items": {"type": "integer"}, "maxItems": 1})

    found = check(["x\ny" * 500] * 1000)

    assert 100 <= len(found) <= 200
    assert max(len(fault.message) for fault in found) <= 320


def test_equal_schemas_are_compiled_once_whatever_the_order_of_their_keys() -> None:
    schemas = DataSchemas()
    schema = {"$schema": "x", "items": {"$ref": "#/nowhere", "$schema": "y"}}

    assert schemas(schema) is schemas(dict(reversed(schema.items())))
    assert schemas({"type": "object"}) is not schemas({"type": "array"})
    assert schema == {"$schema": "x", "items": {"$ref": "#/nowhere", "$schema": "y"}}  # as it was given


def test_of_many_schemas_the_newest_and_those_in_use_stay_compiled() -> None:
    schemas = DataSchemas()
    oldest, in_use = schemas({"type": "array"}), schemas({"type": "object"})
    for number in range(600):
        newest = schemas({"minimum": number})
        assert schemas({"type": "object"}) is in_use

    assert len(schemas._compiled) == 512
    assert schemas({"minimum": 599}) is newest
    assert schemas({"type": "array"}) is not oldest
