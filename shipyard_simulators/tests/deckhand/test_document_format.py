"""The format of documents (contract, B1 and B2)."""

from collections.abc import Callable
from typing import Any

import pytest

from shipyard_simulators.tests.deckhand.client import Deckhand, doc, error, messages, policy, take


def changed(change: Callable[[Any], object]) -> Any:
    """Return a good document after a change."""
    document = doc(
        "a",
        {"x": 1},
        parent={"k": "v"},
        labels={"k": 1},
        substitutions=[take("s", ".x", {"path": ".y", "pattern": "P", "recurse": {"depth": -1}})],
    )
    change(document)
    return document


def at(document: Any, *path: Any) -> Any:
    for key in path:
        document = document[key]
    return document


LAYERING, SRC, DEST = (
    ("metadata", "layeringDefinition"),
    ("metadata", "substitutions", 0, "src"),
    ("metadata", "substitutions", 0, "dest", 0),
)

WRONG_SHAPES: dict[str, Callable[[Any], object]] = {
    "no-schema": lambda d: d.pop("schema"),
    "schema-number": lambda d: d.update(schema=1),
    "schema-digits": lambda d: d.update(schema="exam2ple/Kind/v1"),
    "schema-hyphen": lambda d: d.update(schema="ex-ample/Kind/v1"),
    "schema-version": lambda d: d.update(schema="example/Kind/1"),
    "schema-four-parts": lambda d: d.update(schema="a/b/c/v1"),
    "no-metadata": lambda d: d.pop("metadata"),
    "no-name": lambda d: d["metadata"].pop("name"),
    "no-metadata-schema": lambda d: d["metadata"].pop("schema"),
    "metadata-version": lambda d: d["metadata"].update(schema="metadata/Document/v1.0"),
    "metadata-key": lambda d: d["metadata"].update(colour="red"),
    "no-storage-policy": lambda d: d["metadata"].pop("storagePolicy"),
    "storage-policy": lambda d: d["metadata"].update(storagePolicy="secret"),
    "no-layering": lambda d: d["metadata"].pop("layeringDefinition"),
    "no-layer": lambda d: at(d, *LAYERING).pop("layer"),
    "layering-key": lambda d: at(d, *LAYERING).update(colour="red"),
    "abstract-text": lambda d: at(d, *LAYERING).update(abstract="yes"),
    "selector-alone": lambda d: at(d, *LAYERING).pop("actions"),
    "actions-alone": lambda d: at(d, *LAYERING).pop("parentSelector"),
    "selector-empty": lambda d: at(d, *LAYERING).update(parentSelector={}),
    "actions-empty": lambda d: at(d, *LAYERING).update(actions=[]),
    "action-method": lambda d: at(d, *LAYERING, "actions", 0).update(method="mend"),
    "action-key": lambda d: at(d, *LAYERING, "actions", 0).update(colour="red"),
    "action-without-path": lambda d: at(d, *LAYERING, "actions", 0).pop("path"),
    "labels": lambda d: d["metadata"].update(labels=["k"]),
    "replacement": lambda d: d["metadata"].update(replacement="yes"),
    "substitution-key": lambda d: at(d, "metadata", "substitutions", 0).update(colour="red"),
    "no-src": lambda d: at(d, "metadata", "substitutions", 0).pop("src"),
    "no-dest": lambda d: at(d, "metadata", "substitutions", 0).pop("dest"),
    "dest-empty": lambda d: at(d, "metadata", "substitutions", 0).update(dest=[]),
    "src-without-name": lambda d: at(d, *SRC).pop("name"),
    "src-without-path": lambda d: at(d, *SRC).pop("path"),
    "src-key": lambda d: at(d, *SRC).update(colour="red"),
    "src-pattern": lambda d: at(d, *SRC).update(pattern=1),
    "match-group": lambda d: at(d, *SRC).update(match_group="1"),
    "deepcopy": lambda d: at(d, *SRC).update(deepcopy="yes"),
    "dest-without-path": lambda d: at(d, *DEST).pop("path"),
    "dest-key": lambda d: at(d, *DEST).update(colour="red"),
    "no-depth": lambda d: at(d, *DEST, "recurse").clear(),
    "depth": lambda d: at(d, *DEST, "recurse").update(depth=-2),
}


@pytest.mark.parametrize("change", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_wrong_shapes(deckhand: Deckhand, change: Callable[[Any], object]):
    answer = deckhand.send("b", changed(change))
    assert error(answer) == (400, "InvalidDocumentFormat")
    for each in messages(answer):
        assert (each["name"], each["kind"], each["level"], each["error"]) == (
            "D001",
            "ValidationMessage",
            "Error",
            True,
        )
        assert [set(named) for named in each["documents"]] == [{"schema", "layer", "name"}]
        assert isinstance(each["diagnostic"], str)
    assert deckhand.get("/revisions")["count"] == 0


RIGHT_SHAPES: dict[str, Callable[[Any], object]] = {
    "as-it-is": lambda _: None,
    "top-level-key": lambda d: d.update(colour="red"),
    "no-data": lambda d: d.pop("data"),
    "null-data": lambda d: d.update(data=None),
    "dest-mapping": lambda d: at(d, "metadata", "substitutions", 0).update(dest={"path": ".y"}),
    "dest-without-root": lambda d: at(d, *DEST).update(path="y"),
    "path-unreadable": lambda d: at(d, *SRC).update(path=".["),
}


@pytest.mark.parametrize("change", RIGHT_SHAPES.values(), ids=RIGHT_SHAPES)
def test_right_shapes(deckhand: Deckhand, change: Callable[[Any], object]):
    assert deckhand.put("b", changed(change)) == 1
    shown = deckhand.list("/revisions/1/documents")[0]
    assert set(shown) == {"id", "schema", "metadata", "data", "status"}


def test_only_the_first_wrong_document_is_listed_with_all_that_is_wrong(deckhand: Deckhand):
    answer = deckhand.send(
        "b",
        doc("fine"),
        changed(lambda d: d["metadata"].update(colour="red", labels=[])),
        changed(lambda d: d["metadata"].pop("name")),
    )
    assert len(messages(answer)) == 2
    assert {each["documents"][0]["name"] for each in messages(answer)} == {"a"}


@pytest.mark.parametrize("schema", ["Kind", "example/Kind", ""])
def test_a_schema_with_too_few_parts_breaks_the_service(deckhand: Deckhand, schema: str):
    assert error(deckhand.send("b", doc("a", schema=schema))) == (500, "IndexError")


def test_defaults_are_stored(deckhand: Deckhand):
    plain = doc("a")
    del plain["metadata"]["layeringDefinition"]["abstract"], plain["data"]
    deckhand.put("b", plain, policy())
    first, second = deckhand.list("/revisions/1/documents")
    assert (first["data"], first["metadata"]["replacement"]) == ({}, False)
    assert first["metadata"]["layeringDefinition"] == {"layer": "site", "abstract": False}
    assert second["metadata"]["storagePolicy"] == "cleartext"
    assert second["metadata"]["layeringDefinition"] == {"abstract": False}


@pytest.mark.parametrize(
    ("metadata", "status"), [({"labels": {"k": "v"}, "colour": "red"}, 200), ({"labels": {"k": 1}}, 400)]
)
def test_metadata_of_control_documents(deckhand: Deckhand, metadata: Any, status: int):
    document = policy()
    document["metadata"] |= metadata
    assert deckhand.send("b", document).status_code == status
