"""Layering and replacement (contract, B5 and B8)."""

from typing import Any

import pytest

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.tests.deckhand.client import DEFECTS, Deckhand, Start, doc, error, name_of, policy, take

PARENT = {"a": {"x": 1, "y": 2}, "list": [1, 2], "word": "old", "none": None}

ACTIONS: dict[str, tuple[Any, Any, list[tuple[str, str]], Any]] = {
    "merge-root": (
        PARENT,
        {"a": {"x": 9}, "list": [3]},
        [("merge", ".")],
        PARENT | {"a": {"x": 9, "y": 2}, "list": [3]},
    ),
    "merge-null": (PARENT, {"word": None}, [("merge", ".")], PARENT | {"word": None}),
    "merge-below": (
        PARENT,
        {"a": {"z": 3}, "word": "new"},
        [("merge", ".a")],
        PARENT | {"a": {"x": 1, "y": 2, "z": 3}},
    ),
    "merge-scalar": (PARENT, {"word": {"now": 1}}, [("merge", ".word")], PARENT | {"word": {"now": 1}}),
    "merge-makes": (PARENT, {"n": {"m": 1}}, [("merge", ".n.m")], PARENT | {"n": {"m": 1}}),
    "merge-missing": (PARENT, {}, [("merge", ".a")], "MissingDocumentKey"),
    "merge-null-at-path": (PARENT, {"a": None}, [("merge", ".a")], "MissingDocumentKey"),
    "merge-text": ("old", "new", [("merge", ".")], "new"),
    "merge-over-null": (PARENT, {"none": {"k": 1}}, [("merge", ".none")], PARENT | {"none": {"k": 1}}),
    "replace": (PARENT, {"a": {"z": 3}}, [("replace", ".a")], PARENT | {"a": {"z": 3}}),
    "replace-root": (PARENT, {"only": 1}, [("replace", ".")], {"only": 1}),
    "replace-root-dollar": (PARENT, {"only": 1}, [("replace", "$")], {"only": 1}),
    "replace-false": (PARENT, {"word": False}, [("replace", ".word")], PARENT | {"word": False}),
    "replace-zero": (PARENT, {"word": 0}, [("replace", ".word")], PARENT | {"word": 0}),
    "replace-empty": (PARENT, {"word": ""}, [("replace", ".word")], PARENT | {"word": ""}),
    "replace-makes": (PARENT, {"n": [0, {"k": 5}]}, [("replace", ".n[1].k")], PARENT | {"n": [{}, {"k": 5}]}),
    "replace-element": (PARENT, {"list": [7]}, [("replace", ".list[0]")], PARENT | {"list": [7, 2]}),
    "replace-missing": (PARENT, {}, [("replace", ".a")], "MissingDocumentKey"),
    "delete": ({"a": {"x": 1, "y": 2}}, {}, [("delete", ".a.x")], {"a": {"y": 2}}),
    "delete-root": (PARENT, {"kept": 1}, [("delete", ".")], {}),
    "delete-root-dollar": (PARENT, {"kept": 1}, [("delete", "$")], {}),
    "delete-element": ({"l": [1, 2, 1]}, {}, [("delete", ".l[2]")], {"l": [1, 2]}),
    "delete-missing": (PARENT, {}, [("delete", ".nothing")], "MissingDocumentKey"),
    "delete-null": (PARENT, {}, [("delete", ".none")], "MissingDocumentKey"),
    "in-order": ({"a": 1}, {"a": 2, "b": 3}, [("delete", ".a"), ("merge", "."), ("delete", ".b")], {"a": 2}),
    "nothing-else": (PARENT, {"a": 5, "word": "new"}, [("replace", ".word")], PARENT | {"word": "new"}),
    "path-with-data": (PARENT, {"word": "new"}, [("replace", ".data.word")], PARENT | {"word": "new"}),
    "path-with-root-and-data": (PARENT, {"word": "new"}, [("replace", "$.data.word")], PARENT | {"word": "new"}),
    "path-is-data": (PARENT, {"only": 1}, [("replace", ".data")], {"only": 1}),
    "path-cut-by-letters": (
        {"base": 1, "database": 2},
        {"base": 3},
        [("replace", ".database")],
        {"base": 3, "database": 2},
    ),
    "path-without-dot": (PARENT, {"word": "new"}, [("replace", "word")], PARENT | {"word": "new"}),
    "quoted-key": ({"a.b/c": 1, "d": 1}, {"a.b/c": 2}, [("replace", ".'a.b/c'")], {"a.b/c": 2, "d": 1}),
    "blocked": ({"word": "text"}, {"word": {"k": 1}}, [("merge", ".word.k")], "AttributeError"),
    "unreadable": (PARENT, {}, [("delete", ".a[?(@.x)]")], "JsonPathLexerError"),
    "unparsable": (PARENT, {}, [("delete", ".a.")], "JsonPathParserError"),
}


@pytest.mark.parametrize(("parent", "child", "actions", "outcome"), ACTIONS.values(), ids=ACTIONS)
def test_actions(deckhand: Deckhand, parent: Any, child: Any, actions: list[tuple[str, str]], outcome: Any):
    above = doc("parent", parent, layer="global", labels={"k": "v"}, abstract=True)
    revision = deckhand.put("b", policy(), doc("child", child, parent={"k": "v"}, actions=actions), above)
    if isinstance(outcome, str) and outcome[0].isupper():
        answer = deckhand.call("GET", f"/revisions/{revision}/rendered-documents")
        assert error(answer) == (400 if outcome == "MissingDocumentKey" else 500, outcome)
    else:
        assert deckhand.rendered(revision) == {"child": outcome}


def labelled(name: str, layer: str, **options: Any) -> Any:
    return doc(name, {"from": name}, layer=layer, labels={"k": "v", "n": 1}, **options)


CHILD = doc("child", parent={"k": "v"})

PARENTS: dict[str, tuple[list[Any], Any]] = {
    "none": ([CHILD], {}),
    "nearest": ([CHILD, labelled("far", "global"), labelled("near", "region")], {"from": "near"}),
    "all-labels": ([doc("child", parent={"k": "v", "n": 1}), labelled("p", "global")], {"from": "p"}),
    "one-label-differs": ([doc("child", parent={"k": "v", "n": 2}), labelled("p", "global")], {}),
    "types-count": ([doc("child", parent={"n": "1"}), labelled("p", "global")], {}),
    "truth-is-no-number": ([doc("child", parent={"n": True}), labelled("p", "global")], {}),
    "concrete": ([CHILD, labelled("p", "type")], {"from": "p"}),
    "other-schema": ([CHILD, labelled("p", "global", schema="example/Kind/v2")], "InvalidDocumentParent"),
    "same-layer": ([CHILD, labelled("p", "site")], "InvalidDocumentParent"),
    "inner-layer": ([doc("child", layer="type", parent={"k": "v"}), labelled("p", "site")], "InvalidDocumentParent"),
    "two": ([CHILD, labelled("p", "type"), labelled("q", "type")], "IndeterminateDocumentParent"),
    "two-farther-away": (
        [CHILD, labelled("p", "global"), labelled("q", "global"), labelled("r", "type")],
        "IndeterminateDocumentParent",
    ),
    "unknown-layer": ([CHILD, doc("x", layer="nowhere")], "InvalidDocumentLayer"),
}


@pytest.mark.parametrize(("documents", "outcome"), PARENTS.values(), ids=PARENTS)
def test_parents(deckhand: Deckhand, documents: list[Any], outcome: Any):
    revision = deckhand.put("b", policy(), *documents)
    if isinstance(outcome, str):
        assert error(deckhand.call("GET", f"/revisions/{revision}/rendered-documents")) == (400, outcome)
    else:
        assert deckhand.rendered(revision)["child"] == outcome


def test_three_layers_and_nothing_but_data_is_inherited(deckhand: Deckhand):
    middle = doc("middle", {"m": 1}, layer="type", parent={"k": "v"}, labels={"j": "w"}, abstract=True)
    deckhand.put("b", policy(), doc("inner", {"i": 1}, parent={"j": "w"}), middle, labelled("outer", "global"))
    assert deckhand.rendered(1)["inner"] == {"from": "outer", "m": 1, "i": 1}
    inner = next(each for each in deckhand.list("/revisions/1/rendered-documents") if name_of(each) == "inner")
    assert "labels" not in inner["metadata"]


def test_without_a_layering_policy_nothing_renders(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (409, "LayeringPolicyNotFound")
    deckhand.put("later", policy())
    deckhand.send("later")
    assert deckhand.rendered(1) == deckhand.rendered(3) == {"a": {}}


@pytest.mark.parametrize(
    ("behaviour", "left"), [(Behaviour(), {"twin": "v"}), (DEFECTS, {"x": "v"})], ids=["correct", "as-seen"]
)
def test_a_delete_may_hit_an_equal_neighbour(start: Start, behaviour: Behaviour, left: Any):
    deckhand = start(behaviour=behaviour)
    above = doc("parent", {"labels": {"twin": "v", "x": "v"}}, layer="global", labels={"k": "v"})
    deckhand.put("b", policy(), above, doc("child", parent={"k": "v"}, actions=[("delete", ".labels.x")]))
    assert deckhand.rendered(1)["child"] == {"labels": left}


def replacing(name: str = "p", layer: str = "site", **options: Any) -> Any:
    return doc(name, {"r": 1}, layer=layer, parent={"k": "v"}, replacement=True, **options)


REPLACEMENTS: dict[str, tuple[list[Any], Any]] = {
    "stands-in": ([labelled("p", "global"), replacing()], {"p": {"from": "p", "r": 1}}),
    "for-substitution": (
        [labelled("p", "global"), replacing(), doc("u", substitutions=[take("p", ".r", ".k")])],
        {"p": {"from": "p", "r": 1}, "u": {"k": 1}},
    ),
    "for-other-children": (
        [labelled("p", "global"), replacing(layer="site"), doc("c", {"c": 1}, layer="type", parent={"k": "v"})],
        {"p": {"from": "p", "r": 1}, "c": {"from": "p", "r": 1, "c": 1}},
    ),
    "without-parent": ([replacing()], "InvalidDocumentReplacement"),
    "other-name": ([labelled("p", "global"), replacing("q")], "InvalidDocumentReplacement"),
    "child-that-replaces-nothing": (
        [labelled("p", "global"), doc("p", parent={"k": "v"})],
        "InvalidDocumentReplacement",
    ),
    "replaced-twice": (
        [
            labelled("p", "global"),
            replacing(layer="type", labels={"j": "w"}),
            doc("p", parent={"j": "w"}, replacement=True),
        ],
        "InvalidDocumentReplacement",
    ),
    "unrelated": ([doc("p", layer="global"), doc("p", layer="site")], "InvalidDocumentReplacement"),
}


@pytest.mark.parametrize(("documents", "outcome"), REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_replacements(deckhand: Deckhand, documents: list[Any], outcome: Any):
    deckhand.put("b", policy(), *documents)
    if isinstance(outcome, str):
        assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (400, outcome)
    else:
        assert deckhand.rendered(1) == outcome
