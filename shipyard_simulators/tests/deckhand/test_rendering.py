"""Rendered documents, and the schemas of their data (contract, A6, B3 and B4)."""

from typing import Any

import pytest
import yaml

from shipyard_simulators.tests.deckhand.client import (
    FAST,
    Deckhand,
    control,
    data_schema,
    doc,
    error,
    messages,
    name_of,
    policy,
    take,
)


def test_control_documents_are_rendered_and_abstract_ones_are_not(deckhand: Deckhand):
    revision = deckhand.put("b", policy(), doc("a"), doc("abstract", abstract=True), data_schema("x/Y/v1", {}))
    shown = {name_of(each) for each in deckhand.list(f"/revisions/{revision}/rendered-documents")}
    assert shown == {"policy", "a", "x/Y/v1"}


def test_a_rendering_is_remembered(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"x": 1}))
    assert deckhand.rendered(1) == {"a": {"x": 1}}
    # The newest data schemas count for every revision, but only where it was not rendered before.
    deckhand.put("schemas", data_schema("example/Kind/v1", {"required": ["y"]}))
    assert deckhand.rendered(1) == {"a": {"x": 1}}
    assert error(deckhand.call("GET", "/revisions/2/rendered-documents")) == (400, "InvalidDocumentFormat")


def test_the_newest_data_schemas_hold_for_old_revisions(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"x": 1}))
    deckhand.put("schemas", data_schema("example/Kind/v1", {"required": ["y"]}))
    assert deckhand.call("GET", "/revisions/1/rendered-documents").status_code == 400


def test_every_fault_of_the_rendered_data_is_listed(deckhand: Deckhand):
    rules = {"properties": {"n": {"type": "integer"}}, "required": ["y"]}
    deckhand.put(
        "b",
        policy(),
        data_schema("example/Kind/v1", rules),
        doc("source", {"y": 1, "secret": "hunter2"}),
        doc("a", {"n": "x"}, substitutions=[take("source", ".secret", ".n")]),
        doc("abstract", {"n": "x"}, abstract=True),
        doc("other", {"n": "x"}, schema="example/Kind/v2"),
    )
    answer = deckhand.call("GET", "/revisions/1/rendered-documents")
    assert error(answer) == (400, "InvalidDocumentFormat")
    listed = messages(answer)
    assert yaml.load(answer.text, Loader=FAST)["reason"] == "Validation"
    assert [(each["name"], each["kind"], each["level"]) for each in listed] == [
        ("D002", "ValidationMessage", "Error")
    ] * 2
    assert all(each["documents"] == [{"schema": "example/Kind/v1", "layer": "site", "name": "a"}] for each in listed)
    assert all(set(each["diagnostic"]) == {"schema_path", "validation_schema", "error_section"} for each in listed)
    assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    ("documents", "faulty"),
    [
        ([data_schema("example/Kind/v1", {"required": ["y"]}), doc("a", {"x": 1})], {"a"}),
        ([data_schema("example/Kind/v2", {"required": ["y"]}), doc("a", {"x": 1})], set()),
        ([data_schema("no-schema", {"required": ["y"]}), doc("a", {"x": 1})], set()),
        ([doc("p", {"x": 1}, schema="deckhand/Passphrase/v1"), doc("q", "x", schema="deckhand/PublicKey/v1")], {"p"}),
        (
            [data_schema("deckhand/Passphrase/v1", {"type": "object"}), doc("p", "x", schema="deckhand/Passphrase/v1")],
            set(),
        ),
        ([data_schema("example/Kind/v1", {"type": 7}), doc("a")], {"example/Kind/v1"}),
        ([control("deckhand/LayeringPolicy/v1", "policy", {"layerOrder": ["site"], "more": 1})], {"policy"}),
        ([doc("p", {"x": 1}, schema="deckhand/Passphrase/v1", secret=True)], {"p"}),
    ],
    ids=[
        "broken",
        "other-version",
        "no-schema-name",
        "secret-kind",
        "built-in-wins",
        "not-a-schema",
        "policy",
        "encrypted",
    ],
)
def test_data_is_held_to_schemas_when_it_is_rendered(deckhand: Deckhand, documents: list[Any], faulty: set[str]):
    if not any("LayeringPolicy" in each["schema"] for each in documents):
        documents = [policy(), *documents]
    answer = deckhand.call("GET", f"/revisions/{deckhand.put('b', *documents)}/rendered-documents")
    found = {each["documents"][0]["name"] for each in messages(answer)} if answer.status_code == 400 else set()
    assert found == faulty


def test_the_same_name_may_be_in_two_layers_of_the_store(deckhand: Deckhand):
    revision = deckhand.put("b", policy(), doc("a", layer="global"), doc("a", layer="site"))
    answer = deckhand.call("GET", f"/revisions/{revision}/rendered-documents")
    assert error(answer) == (400, "InvalidDocumentReplacement")
