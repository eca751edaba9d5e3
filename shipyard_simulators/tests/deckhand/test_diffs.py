"""Differences between revisions (contract, A8 and A9)."""

from typing import Any

import pytest

from shipyard_simulators.tests.deckhand.client import Deckhand, doc, error, policy


@pytest.fixture
def four(deckhand: Deckhand) -> Deckhand:
    """Four revisions: one and two made, one changed, two emptied."""
    deckhand.put("one", policy(), doc("a", {"x": 1}), doc("b"))
    deckhand.put("two", doc("z"))
    deckhand.put("one", policy(), doc("a", {"x": 2}), doc("c"))
    deckhand.send("two")
    return deckhand


@pytest.mark.parametrize(
    ("pair", "changes"),
    [
        ("0/0", {}),
        ("0/2", {"one": "created", "two": "created"}),
        ("2/0", {"one": "created", "two": "created"}),
        ("1/1", {"one": "unmodified"}),
        ("1/2", {"one": "unmodified", "two": "created"}),
        ("2/1", {"one": "unmodified", "two": "created"}),
        ("2/3", {"one": "modified", "two": "unmodified"}),
        ("3/4", {"one": "unmodified", "two": "deleted"}),
        ("4/3", {"one": "unmodified", "two": "deleted"}),
        ("1/4", {"one": "modified"}),
    ],
)
def test_diff(four: Deckhand, pair: str, changes: dict[str, str]):
    assert four.get(f"/revisions/{pair.replace('/', '/diff/')}") == changes


def test_deep_diff(four: Deckhand):
    assert four.get("/revisions/2/deepdiff/3") == {
        "one": "modified",
        "one diff": {
            "document_added": {"count": 1, "details": [["example/Kind/v1", "c"]]},
            "document_deleted": {"count": 1, "details": [["example/Kind/v1", "b"]]},
            "document_changed": {
                "count": 1,
                "details": {
                    "('example/Kind/v1', 'a')": {
                        "data_changed": {"values_changed": {"root['x']": {"new_value": 2, "old_value": 1}}},
                        "metadata_changed": {},
                    }
                },
            },
        },
        "two": "unmodified",
    }


@pytest.mark.parametrize(
    ("pair", "changes"),
    [("0/0", {}), ("0/1", {"one": "created"}), ("2/4", {"one": "modified", "two": "deleted"}), ("4/2", "created")],
)
def test_the_order_of_a_deep_diff_matters(four: Deckhand, pair: str, changes: Any):
    shown = four.get(f"/revisions/{pair.replace('/', '/deepdiff/')}")
    plain = {key: value for key, value in shown.items() if not key.endswith(" diff")}
    assert plain == changes if isinstance(changes, dict) else plain["two"] == changes


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (1, 2, {"values_changed": {"root['k']": {"new_value": 2, "old_value": 1}}}),
        (
            1,
            "1",
            {"type_changes": {"root['k']": {"old_type": "int", "new_type": "str", "old_value": 1, "new_value": "1"}}},
        ),
        ({}, {"n": 1}, {"dictionary_item_added": ["root['k']['n']"]}),
        ({"n": 1}, {}, {"dictionary_item_removed": ["root['k']['n']"]}),
        ([1], [1, 2], {"iterable_item_added": {"root['k'][1]": 2}}),
        ([1, 2], [1], {"iterable_item_removed": {"root['k'][1]": 2}}),
        ([{"a": 1}], [{"a": 2}], {"values_changed": {"root['k'][0]['a']": {"new_value": 2, "old_value": 1}}}),
    ],
    ids=["value", "type", "key-added", "key-removed", "item-added", "item-removed", "deep"],
)
def test_kinds_of_change(deckhand: Deckhand, old: Any, new: Any, change: Any):
    deckhand.put("b", policy(), doc("a", {"k": old}))
    deckhand.put("b", policy(), doc("a", {"k": new}))
    changed = deckhand.get("/revisions/1/deepdiff/2")["b diff"]["document_changed"]["details"]
    assert changed["('example/Kind/v1', 'a')"]["data_changed"] == change


def test_the_change_of_a_secret_is_not_shown(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"k": 1}, secret=True))
    deckhand.put("b", policy(), doc("a", {"k": 2}, secret=True, labels={"l": "m"}))
    changed = deckhand.get("/revisions/1/deepdiff/2")["b diff"]["document_changed"]["details"]
    assert changed["('example/Kind/v1', 'a')"] == {
        "data_changed": {"encrypted": True},
        "metadata_changed": {"dictionary_item_added": ["root['labels']"]},
    }


def test_a_deep_diff_fails_as_the_rendering_does(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", layer="nowhere"))
    assert error(deckhand.call("GET", "/revisions/0/deepdiff/1")) == (400, "InvalidDocumentLayer")
