"""What patches make of an object, as far as nodes know them."""

from typing import Any

import pytest

from shipyard_simulators.kubernetes.errors import ApiError
from shipyard_simulators.kubernetes.patches import MERGE, STRATEGIC, patched

A, B = {"type": "A", "status": "True"}, {"type": "B", "status": "True"}
MERGED: dict[str, tuple[Any, Any, Any]] = {
    "a new key": ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    "a key less": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "a key that is not there": ({"a": 1}, {"b": None}, {"a": 1}),
    "deeper": ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
    "a list as a whole": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "an object for a text": ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    "no empty keys in what is new": ({}, {"a": {"b": None}}, {"a": {}}),
}
BY_KEY: dict[str, tuple[Any, Any, Any]] = {
    "another entry": ([A], [B], [B, A]),
    "the same entry": ([A, B], [{"type": "A", "status": "False"}], [{"type": "A", "status": "False"}, B]),
    "an entry less": ([A, B], [{"type": "A", "$patch": "delete"}], [B]),
    "all of them anew": ([A], [{"$patch": "replace"}, B], [B]),
    "where there were none": (None, [A], [A]),
}


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC, f"{MERGE}; charset=utf-8"])
@pytest.mark.parametrize(("content", "patch", "expected"), MERGED.values(), ids=MERGED)
def test_objects_are_merged_key_by_key(kind: str, content: Any, patch: Any, expected: Any) -> None:
    before = repr(content)
    assert patched(content, patch, kind) == expected
    assert repr(content) == before


@pytest.mark.parametrize(("entries", "patch", "expected"), BY_KEY.values(), ids=BY_KEY)
def test_conditions_are_merged_by_their_type(entries: Any, patch: Any, expected: Any) -> None:
    content = {"status": {"conditions": entries} if entries else {}}
    order = {"$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}]}
    change = {"status": {**order, "conditions": patch}}
    assert patched(content, change, STRATEGIC) == {"status": {"conditions": expected}}


def test_an_object_may_be_replaced() -> None:
    assert patched({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, STRATEGIC) == {"a": {"c": 2}}


@pytest.mark.parametrize("kind", ["application/json", "application/json-patch+json", "", None])
def test_other_kinds_of_patches_are_refused(kind: str | None) -> None:
    with pytest.raises(ApiError, match="Unsupported Media Type"):
        patched({}, {}, kind)
