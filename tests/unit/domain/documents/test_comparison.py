"""How two states of a design differ, document by document and value by value."""

import json
from typing import Any

import pytest

from shipyard_api.domain.documents import Change, Collection, Document, compare_documents, unified
from shipyard_api.domain.documents.comparison import value_changes
from shipyard_api.yaml_stream import write_documents
from tests.designs import in_layer, stored
from tests.unit.tables import every_row


def held(*entries: dict[str, Any], collection: str = "design") -> list[tuple[Collection, Document]]:
    return [(one.collection, one.document) for one in stored(*entries, collection=collection)]


def json_text(parts: Any) -> str:
    return json.dumps(parts, indent=2)


def text(parts: Any) -> str:
    return write_documents([parts]).decode()


ONE, TWO = in_layer("site", "one", {"x": 1}), in_layer("site", "two", {"x": 1})


def test_documents_that_came_went_and_changed_are_told_apart() -> None:
    changed = in_layer("site", "two", {"x": 2})

    found = compare_documents(held(ONE, TWO), held(changed, in_layer("site", "three")))

    assert [(one.change, one.document.name) for one in found] == [
        (Change.DELETED, "one"),
        (Change.CREATED, "three"),
        (Change.MODIFIED, "two"),
    ]
    deleted, created, modified = found
    assert [*deleted.values(), *created.values()] == []
    assert deleted.after is None
    assert created.before is None
    assert [(one.kind, one.path, one.old, one.new) for one in modified.values()] == [
        ("values_changed", "/data/x", 1, 2)
    ]


def test_the_order_of_keys_is_no_difference() -> None:
    first, second = in_layer("site", "one", {"a": 1, "b": {"c": 1, "d": 2}}), in_layer("site", "one")
    second["data"] = {"b": {"d": 2, "c": 1}, "a": 1}

    assert compare_documents(held(first), held(second)) == ()


@every_row(
    [(1, True), (0, False), (1, "1"), (None, False), (None, ""), ([], {}), ({}, None), ([1], [True]), (1, 1.0)],
)
def test_values_of_different_types_are_different_even_where_python_calls_them_equal(old: Any, new: Any) -> None:
    (found,) = compare_documents(held(in_layer("site", "a", {"v": old})), held(in_layer("site", "a", {"v": new})))

    assert found.change is Change.MODIFIED
    (change,) = found.values()
    assert change.path in ("/data/v", "/data/v/0")
    assert change.kind == "type_changes"
    assert type(change.new) is not type(change.old)


def test_a_default_that_is_written_out_is_no_difference() -> None:
    assert compare_documents(held(ONE), held(in_layer("site", "one", {"x": 1}, replacement=False))) == ()


def test_a_document_that_moved_to_another_collection_went_from_one_and_came_to_the_other() -> None:
    found = compare_documents(held(ONE, collection="b"), held(ONE, collection="a"))

    assert [(one.collection, one.change) for one in found] == [("a", Change.CREATED), ("b", Change.DELETED)]


def test_documents_of_another_layer_or_kind_are_others() -> None:
    for other in (in_layer("global", "one", {"x": 1}), in_layer("site", "one", {"x": 1}, schema="test/Other/v1")):
        assert {one.change for one in compare_documents(held(ONE), held(other))} == {Change.DELETED, Change.CREATED}


def test_changes_come_by_collection_schema_layer_and_name() -> None:
    def all_of(collection: str) -> list[tuple[Collection, Document]]:
        return held(
            in_layer("site", "b"),
            in_layer("site", "a"),
            in_layer("global", "z"),
            in_layer("type", "y", schema="a/A/v1"),
            collection=collection,
        )

    found = compare_documents([], [*all_of("two"), *all_of("one")])

    places = [("a", "y"), ("t", "z"), ("t", "a"), ("t", "b")]
    assert [(one.collection, one.document.schema[0], one.document.name) for one in found] == [
        (collection, *place) for collection in ("one", "two") for place in places
    ]


VALUES = [
    pytest.param({"a": 1, "b": 2}, {"b": 2}, [("dictionary_item_removed", "/a", 1, None)], id="a key went"),
    pytest.param({}, {"a": {"b": 1}}, [("dictionary_item_added", "/a", None, {"b": 1})], id="a key came, whole"),
    pytest.param({"a": 1}, {"b": 1},
                 [("dictionary_item_removed", "/a", 1, None), ("dictionary_item_added", "/b", None, 1)], id="renamed"),
    pytest.param([1, 2, 3], [1], [("iterable_item_removed", "/2", 3, None), ("iterable_item_removed", "/1", 2, None)],
                 id="elements went, from behind"),
    pytest.param({"a/b~": 1}, {"a/b~": 2}, [("values_changed", "/a~1b~0", 1, 2)], id="a key that needs escaping"),
]  # fmt: skip


@every_row(VALUES)
def test_values_are_compared_piece_by_piece(old: Any, new: Any, changes: list[Any]) -> None:
    assert [(one.kind, one.path, one.old, one.new) for one in value_changes(old, new)] == changes


def test_the_order_of_keys_is_no_difference_in_the_unified_text() -> None:
    old = {"gone": 0, "a": 1, "b": {"x": 1, "y": [{"p": 1, "q": 2}]}, "left": 3}
    new = {"b": {"y": [{"q": 2, "p": 1}], "x": 5}, "a": 1}
    before, after = in_layer("site", "one", old), in_layer("site", "one", new)

    lines = unified(compare_documents(held(before), held(after)), json_text).splitlines()

    changed = [line for line in lines[2:] if line[0] in "+-"]
    assert changed == ['-    "gone": 0,', '-      "x": 1', '+      "x": 5', '-    "left": 3,']
    swapped = {name: old[name] for name in reversed(old)}
    assert unified(compare_documents(held(before), held(in_layer("site", "one", swapped))), json_text) == ""


def test_what_came_and_went_is_shown_whole() -> None:
    came = unified(compare_documents([], held(ONE)), text).splitlines()
    went = unified(compare_documents(held(ONE), []), text).splitlines()

    assert came[:2] == ["--- /dev/null", "+++ b/design/test/Kind/v1/site/one"]
    assert went[:2] == ["--- a/design/test/Kind/v1/site/one", "+++ /dev/null"]
    assert all(line.startswith("+") for line in came[3:])
    assert all(line.startswith("-") for line in went[3:])
    assert len(came) == len(went)
