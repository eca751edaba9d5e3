"""Revisions and rollbacks (contract, A7 and A10)."""

import re
from typing import Any

import pytest
import yaml

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.tests.deckhand.client import FAST, GOOD, Deckhand, Start, control, doc, policy


def test_revisions_are_listed_with_the_buckets_they_wrote(deckhand: Deckhand):
    deckhand.put("one", doc("a"))
    deckhand.put("two", doc("b"))
    deckhand.send("one")
    deckhand.post("/revisions/2/tags/zeta")
    deckhand.post("/revisions/2/tags/alpha")
    listed = deckhand.get("/revisions")
    assert listed["count"] == 3
    assert [(each["id"], each["buckets"]) for each in listed["results"]] == [(1, ["one"]), (2, ["two"]), (3, ["one"])]
    assert listed["results"][1]["tags"] == ["alpha", "zeta"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", each["createdAt"]) for each in listed["results"])


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"tag": "red"}, [1, 3]),
        ({"tag": ["red", "blue"]}, [1, 2, 3]),
        ({"tag": "red,blue"}, []),
        ({"sort": "id", "order": "desc"}, [3, 2, 1]),
        ({"sort": "createdAt", "order": "desc"}, [1, 2, 3]),
        ({"order": "desc"}, [1, 2, 3]),
        ({"limit": 1}, [1, 2, 3]),
    ],
    ids=str,
)
def test_queries_of_revisions(deckhand: Deckhand, query: dict[str, Any], ids: list[int]):
    for number, tag in ((1, "red"), (2, "blue"), (3, "red")):
        deckhand.put("b", doc("a", number))
        deckhand.post(f"/revisions/{number}/tags/{tag}")
    listed = deckhand.get("/revisions", **query)
    assert [each["id"] for each in listed["results"]] == ids
    assert listed["count"] == len(ids)


def test_one_revision(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    deckhand.post("/revisions/1/tags/red", {"x": 1})
    shown = deckhand.get("/revisions/1")
    assert shown.pop("createdAt")
    assert shown == {
        "id": 1,
        "url": "https://deckhand/api/v1.0/revisions/1",
        "status": "success",
        "buckets": ["b"],
        "tags": {"red": {"x": 1}},
        "validationPolicies": [],
    }


def test_a_validation_policy_makes_a_revision_look_failed(deckhand: Deckhand):
    deckhand.put("b", control("deckhand/ValidationPolicy/v1", "p", {"validations": [{"name": "x-validation"}]}))
    shown = deckhand.get("/revisions/1")
    assert (shown["status"], [each["name"] for each in shown["validationPolicies"]]) == ("failed", ["p"])


def test_deleting_revisions_numbers_from_one_again(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"x": "old"}))
    assert deckhand.rendered(1) == {"a": {"x": "old"}}
    answer = deckhand.call("DELETE", "/revisions")
    assert (answer.status_code, answer.content) == (204, b"")
    assert deckhand.get("/revisions") == {"count": 0, "results": []}
    assert deckhand.put("b", policy(), doc("a", {"x": "new"})) == 1
    assert deckhand.rendered(1) == {"a": {"x": "new"}}


def test_a_rollback_of_one_bucket(deckhand: Deckhand):
    deckhand.put("b", doc("a", {"x": 1}), doc("gone"))
    deckhand.put("b", doc("a", {"x": 2}))
    deckhand.post("/revisions/1/tags/red")
    answer = deckhand.post("/rollback/1")
    shown = yaml.load(answer.text, Loader=FAST)
    assert (answer.status_code, shown["id"], shown["buckets"], shown["tags"]) == (201, 3, [], {})
    assert deckhand.raw(3) == {"a": {"x": 1}, "gone": {}}
    assert deckhand.get("/revisions/3")["buckets"] == ["b"]
    assert deckhand.get("/revisions/1/diff/3") == {"b": "unmodified"}


def test_a_rollback_to_nothing(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert deckhand.post("/rollback/0").status_code == 201
    assert deckhand.list("/revisions/2/documents") == []


def test_a_rollback_empties_buckets_that_came_later(deckhand: Deckhand):
    deckhand.put("one", doc("a"))
    deckhand.put("two", doc("b"))
    deckhand.post("/rollback/1")
    assert deckhand.raw(3) == {"a": {}}


ROLLBACKS = [
    (Behaviour(), {"a": {"x": 1}, "deleted": {}, "z": {}}, {"one": "modified", "two": "unmodified"}),
    (GOOD, {"a": {"x": 2}, "z": {}}, {"one": "unmodified", "two": "unmodified"}),
]


@pytest.mark.parametrize(("behaviour", "restored", "changes"), ROLLBACKS, ids=["as-seen", "well-behaved"])
def test_a_rollback_over_two_buckets(start: Start, behaviour: Behaviour, restored: Any, changes: Any):
    deckhand = start(behaviour=behaviour)
    deckhand.put("one", doc("a", {"x": 1}), doc("deleted"))
    deckhand.put("one", doc("a", {"x": 2}))
    deckhand.put("two", doc("z"))
    deckhand.put("one", doc("a", {"x": 3}))
    assert deckhand.post("/rollback/3").status_code == 201
    assert deckhand.raw(5) == restored
    assert deckhand.get("/revisions/3/diff/5") == changes
