"""Buckets: replacing their documents, and conflicts between them (contract, A3 and A4)."""

from typing import Any

import pytest
import yaml

from shipyard_simulators.tests.deckhand.client import FAST, GOOD, Deckhand, Start, doc, error, name_of, policy, take


def test_a_put_replaces_the_whole_bucket(deckhand: Deckhand):
    deckhand.put("one", doc("a", {"x": 1}), doc("b"))
    deckhand.put("two", doc("c"))
    revision = deckhand.put("one", doc("a", {"x": 2}), doc("d"))
    assert deckhand.raw(revision) == {"c": {}, "a": {"x": 2}, "d": {}}


def test_the_answer_shows_what_was_stored_in_the_new_revision(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    answer = deckhand.send("b", doc("a"), doc("z"))
    shown = list(yaml.load_all(answer.text, Loader=FAST))
    assert [name_of(each) for each in shown] == ["a", "z"]
    assert all(set(each) == {"id", "schema", "metadata", "data", "status"} for each in shown)
    assert all(each["status"] == {"bucket": "b", "revision": 2} for each in shown)


def test_emptying_a_bucket(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert yaml.load(deckhand.send("b").text, Loader=FAST) == {"status": {"bucket": "b", "revision": 2}}
    assert deckhand.list("/revisions/2/documents") == []


def test_emptying_nothing_does_nothing(deckhand: Deckhand):
    answer = deckhand.send("b")
    assert (answer.status_code, answer.content) == (200, b"")
    assert deckhand.get("/revisions")["count"] == 0


def test_an_empty_body_needs_no_type(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert deckhand.call("PUT", "/buckets/b/documents").status_code == 200
    assert deckhand.list("/revisions/2/documents") == []


def test_the_same_body_makes_a_revision_without_a_difference(deckhand: Deckhand):
    body = [doc("a", {"x": 1}), doc("s", {"y": 1}, secret=True)]
    assert [deckhand.put("b", *body), deckhand.put("b", *body)] == [1, 2]
    assert deckhand.get("/revisions/1/diff/2") == {"b": "unmodified"}
    assert [each["status"]["revision"] for each in deckhand.list("/revisions/2/documents")] == [1, 1]


@pytest.mark.parametrize(
    "body",
    [[doc("taken")], [doc("a"), doc("a")], [doc("n" * 65)]],
    ids=["taken", "twice", "too-long"],
)
def test_a_rejected_put_stores_nothing_and_uses_up_a_number(deckhand: Deckhand, body: list[Any]):
    deckhand.put("other", doc("taken"))
    assert deckhand.send("b", *body).status_code in (409, 500)
    assert deckhand.get("/revisions")["count"] == 1
    assert deckhand.put("b", doc("fine")) == 3


def test_designs_that_do_not_render_are_stored(deckhand: Deckhand):
    broken = doc("a", substitutions=[take("unknown", ".x", ".y")], layer="nowhere")
    assert deckhand.put("b", broken) == 1


@pytest.mark.parametrize(
    ("bucket", "document", "status"),
    [
        ("b" * 36, doc("n" * 64, layer="l" * 64), 200),
        ("b" * 37, doc("a"), 500),
        ("b", doc("n" * 65), 500),
        ("b", doc("a", layer="l" * 65), 500),
        ("b", doc("a", schema=f"example/{'K' * 55}/v1"), 500),
    ],
    ids=["longest", "bucket", "name", "layer", "schema"],
)
def test_words_that_are_too_long(deckhand: Deckhand, bucket: str, document: Any, status: int):
    answer = deckhand.send(bucket, document)
    assert answer.status_code == status
    if status == 500:
        assert error(answer) == (500, "DBError")


def test_a_document_of_another_bucket_is_refused(deckhand: Deckhand):
    deckhand.put("one", doc("a"))
    answer = deckhand.send("two", doc("a"))
    assert error(answer) == (409, "DuplicateDocumentExists")
    assert "one" in yaml.load(answer.text, Loader=FAST)["message"]


def test_the_conflict_is_missed_if_a_third_bucket_was_written_last(deckhand: Deckhand):
    deckhand.put("one", doc("a", {"of": "one"}), doc("b"))
    deckhand.put("three", doc("c"))
    revision = deckhand.put("two", doc("a", {"of": "two"}))
    owners = {name_of(each): each["status"]["bucket"] for each in deckhand.list(f"/revisions/{revision}/documents")}
    assert owners == {"a": "two", "b": "one", "c": "three"}
    assert deckhand.raw(revision)["a"] == {"of": "two"}


def test_a_second_layering_policy_is_refused_with_the_same_blindness(deckhand: Deckhand):
    deckhand.put("one", policy(name="first"))
    assert error(deckhand.send("two", policy(name="second"))) == (409, "SingletonDocumentConflict")
    deckhand.put("three", doc("c"))
    assert deckhand.send("two", policy(name="second")).status_code == 200


def test_a_document_can_be_moved(deckhand: Deckhand):
    deckhand.put("one", doc("a"), doc("b"))
    deckhand.put("one", doc("b"))
    assert deckhand.put("two", doc("a")) == 3


def test_a_well_behaved_one_is_not_blind(start: Start):
    deckhand = start(behaviour=GOOD)
    deckhand.put("one", doc("a"), policy(name="first"))
    deckhand.put("three", doc("c"))
    assert error(deckhand.send("two", doc("a"))) == (409, "DuplicateDocumentExists")
    assert error(deckhand.send("two", policy(name="second"))) == (409, "SingletonDocumentConflict")
