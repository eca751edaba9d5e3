"""The documents of a revision, and their filters (contract, A5)."""

from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.tests.deckhand.client import Deckhand, control, doc, name_of, policy
from shipyard_simulators.tests.in_process import unserved


def test_a_document_as_it_is_listed(deckhand: Deckhand):
    deckhand.put("one", doc("a", {"x": 1}, labels={"k": "v"}))
    deckhand.put("two", doc("b"))
    shown = deckhand.list("/revisions/2/documents")[0]
    assert shown["metadata"] == doc("a", labels={"k": "v"})["metadata"] | {"replacement": False}
    assert (shown["schema"], shown["data"]) == ("example/Kind/v1", {"x": 1})
    assert shown["status"] == {"bucket": "one", "revision": 1}
    assert isinstance(shown["id"], int)


def test_a_revision_never_changes(deckhand: Deckhand):
    deckhand.put("b", doc("a", {"x": 1}))
    deckhand.put("b", doc("a", {"x": 2}))
    assert deckhand.raw(1) == {"a": {"x": 1}}


QUERIES = [
    ({}, "a b c d"),
    ({"schema": "example"}, "a b c"),
    ({"schema": "example/Kind"}, "a b"),
    ({"schema": "example/Kind/v1"}, "a b"),
    ({"schema": "exam"}, ""),
    ({"schema": "example/Ki"}, ""),
    ({"schema": ["example/Kind/v1", "other/Kind/v2"]}, "a b d"),
    ({"schema": ["example/Kind/v1", "other/Kind"]}, "a b"),
    ({"metadata.name": "b"}, "b"),
    ({"metadata.name": ["b", "d"]}, "b d"),
    ({"metadata.label": "k=v"}, "a b"),
    ({"metadata.label": ["k=v", "n=m=o"]}, "b"),
    ({"metadata.label": "k=x"}, ""),
    ({"metadata.layeringDefinition.layer": "global"}, "c"),
    ({"metadata.layeringDefinition.layer": ["global", "type"]}, "c d"),
    ({"status.bucket": "two"}, "c d"),
    ({"status.bucket": ["one", "two"]}, "a b c d"),
    ({"sort": "metadata.name", "order": "desc"}, "d c b a"),
    ({"sort": "schema"}, "c a b d"),
    ({"sort": ["schema", "metadata.name"], "order": "desc"}, "d b a c"),
    ({"sort": "no.such.path", "order": "desc"}, "a b c d"),
    ({"order": "desc"}, "a b c d"),
    ({"limit": 2}, "a b"),
    ({"limit": -1}, "a"),
    ({"limit": 0}, ""),
    ({"limit": 99}, "a b c d"),
    ({"sort": "metadata.name", "order": "desc", "limit": 1}, "d"),
    ({"schema": "example", "status.bucket": "two"}, "c"),
]


@pytest.fixture(scope="module")
def filled() -> Iterator[Deckhand]:
    with unserved(DeckhandSimulator()) as simulator:
        deckhand = Deckhand(simulator)
        deckhand.put(
            "one",
            doc("a", labels={"k": "v"}),
            doc("b", labels={"k": "v", "n": "m=o"}),
            control("deckhand/ValidationPolicy/v1", "p", {"validations": [{"name": "x-validation"}]}),
        )
        deckhand.put(
            "two", doc("c", schema="example/First/v1", layer="global"), doc("d", schema="other/Kind/v2", layer="type")
        )
        deckhand.put("policy", policy())
        yield deckhand


@pytest.mark.parametrize("kind", ["documents", "rendered-documents"])
@pytest.mark.parametrize(("query", "names"), QUERIES, ids=str)
def test_queries(filled: Deckhand, kind: str, query: dict[str, Any], names: str):
    # The layering policy came later; revision 2 renders with it all the same.
    found = [name_of(each) for each in filled.list(f"/revisions/2/{kind}", query)]
    if kind == "rendered-documents" and "sort" not in query:
        assert (len(found), set(found) <= set("abcd")) == (len(names.split()), True)
    else:
        assert found == names.split()


@pytest.mark.parametrize(("abstract", "names"), [("true", ["a"]), ("false", ["b"])])
def test_documents_are_filtered_by_abstract(deckhand: Deckhand, abstract: str, names: list[str]):
    deckhand.put("b", doc("a", abstract=True), doc("b"))
    assert list(deckhand.raw(1, **{"metadata.layeringDefinition.abstract": abstract})) == names
