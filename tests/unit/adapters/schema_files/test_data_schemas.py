"""JSON schemas that come with a design: draft 4 always, nothing fetched, and both libraries say the same."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_api.adapters.schema_files import data_schemas
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas, compiled

LIBRARIES = [
    pytest.param(data_schemas._fast, id="jsonschema-rs"),
    pytest.param(data_schemas._reference, id="jsonschema"),
]


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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_draft_4_is_applied_whatever_the_schema_calls_itself(compile_schema: Any, dialect: str) -> None:
    later = {"const": 1, "if": {}, "then": False, "contains": {"type": "null"}, "exclusiveMinimum": True, "minimum": 2}
    inner = {"$schema": dialect, **later}

    for schema in (inner, {"properties": {"a": inner}}, {"definitions": {"a": inner}, "$ref": "#/definitions/a"}):
        check = compile_schema(schema)
        assert check({"a": 3}) == []
    assert places(compile_schema(inner), 2) == {("", "/minimum")} or places(compile_schema(inner), 2) == {
        ("", "/exclusiveMinimum")
    }


def test_a_property_may_be_called_schema_like_the_word(compile_schema: Any) -> None:
    check = compile_schema({"properties": {"$schema": {"type": "string"}}})

    assert places(check, {"$schema": 3}) == {("/$schema", "/properties/$schema/type")}


@pytest.mark.parametrize("form", ["ipv4", "ipv6", "email", "date-time", "uri", "hostname", "regex", "uuid", "nonsense"])
def test_formats_are_ignored(compile_schema: Any, form: str) -> None:
    assert compile_schema({"format": form})("not ( at all") == []


DANGLING = ["#/definitions/nobody", "#/nothing", "#/properties/a/b", "#nobody", "#/definitions/x/3"]


@pytest.mark.parametrize("reference", DANGLING)
def test_a_reference_that_leads_nowhere_matters_only_where_it_is_visited(compile_schema: Any, reference: str) -> None:
    check = compile_schema(
        {"properties": {"a": {"$ref": reference}, "b": {"type": "string"}}, "definitions": {"x": {}}}
    )

    assert check({}) == []
    assert places(check, {"b": 1}) == {("/b", "/properties/b/type")}
    assert {path for path, _ in places(check, {"a": 1})} == {"/a"}


@pytest.mark.parametrize(
    "reference", ["#/definitions/a", "#/definitions/b~1c", "#/definitions/d%20e", "#/items/0", "#named", "#"]
)
def test_references_within_the_schema_are_followed(compile_schema: Any, reference: str) -> None:
    text: dict[str, Any] = {"type": "string"}
    schema = {
        "definitions": {"a": text, "b/c": text, "d e": text, "n": {"id": "#named", **text}},
        "items": [text],
        "type": ["object", "string"],
        "properties": {"x": {"$ref": reference}},
    }

    assert compile_schema(schema)({"x": "text"}) == []
    assert {path for path, _ in places(compile_schema(schema), {"x": 3})} == {"/x"}


def test_what_only_looks_like_a_reference_is_none(compile_schema: Any) -> None:
    check = compile_schema(
        {"properties": {"$ref": {"type": "string"}, "a": {"enum": [{"$ref": "#/nowhere"}, {"$schema": "x"}]}}}
    )

    assert check({"$ref": "x", "a": {"$ref": "#/nowhere"}}) == []
    assert check({"a": {"$schema": "x"}}) == []
    assert places(check, {"$ref": 3}) == {("/$ref", "/properties/$ref/type")}
    assert places(check, {"a": {}}) == {("/a", "/properties/a/enum")}


@pytest.mark.parametrize(
    "reference", ["http://x.example/y", "other.json", "other.json#/a", "file:///etc/passwd", "urn:a:b", "//x/y", ""]
)
@pytest.mark.parametrize("place", ["$ref", "deep"])
def test_a_reference_to_elsewhere_is_refused(compile_schema: Any, reference: str, place: str) -> None:
    schema = {"$ref": reference} if place == "$ref" else {"items": [{"not": {"$ref": reference}}]}

    with pytest.raises(ValueError, match="another address"):
        compile_schema(schema)


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


@pytest.mark.parametrize("schema", BAD, ids=repr)
def test_what_is_no_schema_is_refused_with_a_short_reason(compile_schema: Any, schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\S") as refused:
        compile_schema(schema)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) <= 320


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


@pytest.mark.parametrize(("schema", "value"), CASES, ids=repr)
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


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        pytest.param(doubling(12, lambda one: {"allOf": [one] * 8}, {}), "expand to 157,073,089,682 sub", id="allOf"),
        pytest.param(doubling(99, lambda one: {"not": {"oneOf": [one] * 9}}, {}), "more than a trillion", id="oneOf"),
        pytest.param(doubling(40, lambda one: {"dependencies": {"a": one, "b": one}}, {}), "expand to", id="dependen"),
        pytest.param({"properties": {"a": doubling(1, lambda one: {}, {})} | {f"p{i}": {} for i in range(50_000)}},
                     "more than 100,000 values", id="large"),
        pytest.param({"items": [{"pattern": "\\w" * 500}] * 5}, "patterns are too many or too long", id="patterns"),
        pytest.param({"patternProperties": {"\\w" * 1001: {}}}, "patterns are too many or too long", id="long name"),
        pytest.param(RELATIVE, "expand to", id="references relative to an id"),
    ],
)  # fmt: skip
def test_a_schema_that_expands_without_measure_is_refused_before_it_is_compiled(
    compile_schema: Any, schema: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        compile_schema(schema)


TREE = {"properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        pytest.param(
            doubling(12, lambda one: {"properties": {"a": {"allOf": [one] * 8}}}, {}), nested(12, 1),
            "steps for this document; at most 2,000,000 are made", id="deeper in the value"),
        pytest.param({"properties": {"a": {"anyOf": [{"$ref": "#"}] * 2}}}, nested(40, 1),
                     "more than a trillion steps", id="of itself"),
        pytest.param({"definitions": {"a": {"allOf": [{"$ref": "#/definitions/a"}] * 2}}, "$ref": "#/definitions/a"},
                     1, "lead from one to the next without end", id="circle"),
        pytest.param({"items": {"enum": [[i] for i in range(5_000)]}}, [[1]] * 5_000, "steps for this", id="enum"),
        pytest.param({"items": {"pattern": "(?=a*y)|z"}}, ["a" * 9_000], "steps for this document", id="lookahead"),
        pytest.param({"patternProperties": {"(a)\\1": {}}}, {"a" * 9_000: 1}, "steps for this document", id="name"),
        pytest.param({"items": {"allOf": [{"uniqueItems": True}] * 99}}, [list(range(30_000))], "steps", id="unique"),
        pytest.param({"items": {"$ref": "#"}, **TREE}, lambda: [[i] for i in range(200_000)],
                     "200,000 of its rules", id="p"),
        pytest.param(doubling(1_100, lambda one: {"properties": {"a": one}, "not": {"enum": [{"$ref": "#"}]}}, TREE),
                     nested(1_100, 1), "nested too deeply", id="deep"),
    ],
)  # fmt: skip
def test_a_value_whose_check_would_take_too_long_is_not_checked(
    compile_schema: Any, schema: dict[str, Any], value: Any, reason: str
) -> None:
    (fault,) = compile_schema(schema)(value() if callable(value) else value)

    assert reason in fault.message
    assert not fault.quotes


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(TREE, nested(60, 1), id="a tree"),
        pytest.param({"items": {"pattern": "^(?!-)[a-z0-9-]{1,63}$"}}, ["node-01"] * 200, id="lookahead"),
        pytest.param({"items": {"pattern": "^[a-z ]+$"}}, ["a" * 1_000_000], id="long text"),
        pytest.param(doubling(12, lambda one: {"properties": {"a": {"allOf": [one] * 8}}}, {}), nested(4, 1), id="low"),
    ],
)
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

    assert schemas({"type": "object", "required": ["a"]}) is schemas({"required": ["a"], "type": "object"})
    assert schemas({"type": "object"}) is not schemas({"type": "array"})


def test_of_many_schemas_the_newest_and_those_in_use_stay_compiled() -> None:
    schemas = DataSchemas()
    oldest, in_use = schemas({"type": "array"}), schemas({"type": "object"})
    for number in range(600):
        newest = schemas({"minimum": number})
        assert schemas({"type": "object"}) is in_use

    assert len(schemas._compiled) == 512
    assert schemas({"minimum": 599}) is newest
    assert schemas({"type": "array"}) is not oldest


def test_a_schema_stays_as_it_was_given() -> None:
    schema = {"$schema": "x", "items": {"$ref": "#/nowhere", "$schema": "y"}}

    compiled(schema)

    assert schema == {"$schema": "x", "items": {"$ref": "#/nowhere", "$schema": "y"}}
