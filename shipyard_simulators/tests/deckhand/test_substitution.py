"""Substitution (contract, B7)."""

from typing import Any

import pytest

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.tests.deckhand.client import DEFECTS, Deckhand, Start, doc, error, policy, take


def pattern(path: str, depth: int | None = None) -> dict[str, Any]:
    return {"path": path, "pattern": "WORD"} | ({} if depth is None else {"recurse": {"depth": depth}})


NESTED = {"t": "a WORD", "m": {"t": "WORD", "l": ["WORD", 5, {"t": "WORD"}]}}
U = "UnknownSubstitutionError"

SUBSTITUTIONS: dict[str, tuple[Any, Any, list[Any], Any]] = {
    "text-whole": ("secret", {}, [take("source", ".", ".k")], {"k": "secret"}),
    "path-ignored-for-text": ("secret", {}, [take("source", ".no.such", ".k")], {"k": "secret"}),
    "root-mapping-over": ({"a": 1, "b": 2}, {"b": 0, "c": 3}, [take("source", ".", ".")], {"a": 1, "b": 2, "c": 3}),
    "root-text": ("secret", {"k": 1}, [take("source", ".", ".")], "secret"),
    "root-empty-over-text": ("", "old", [take("source", ".", ".")], U),
    "root-false-over-text": (False, "old", [take("source", ".", ".")], U),
    "two-places": ({"v": 1}, {}, [take("source", ".v", ".k", ".l.m")], {"k": 1, "l": {"m": 1}}),
    "later-sees-earlier": (
        {"v": {"w": 1}, "x": 2},
        {},
        [take("source", ".v", ".k"), take("source", ".x", ".k.w")],
        {"k": {"w": 2}},
    ),
    "false-is-a-value": ({"v": False}, {}, [take("source", ".v", ".k")], {"k": False}),
    "null-is-none": ({"v": None}, {}, [take("source", ".v", ".k")], "SubstitutionSourceDataNotFound"),
    "missing": ({"v": 1}, {}, [take("source", ".w", ".k")], "SubstitutionSourceDataNotFound"),
    "source-pattern": ({"v": "ab:12"}, {}, [take("source", ".v", ".k", pattern=r"\d+")], {"k": "12"}),
    "match-group": ({"v": "ab:12"}, {}, [take("source", ".v", ".k", pattern=r"(\w+):(\d)", match_group=2)], {"k": "1"}),
    "source-pattern-without-match": ({"v": "ab"}, {}, [take("source", ".v", ".k", pattern=r"\d+")], {"k": "ab"}),
    "source-pattern-in-number": ({"v": 12}, {}, [take("source", ".v", ".k", pattern=r"\d+")], U),
    "pattern": ({"v": "x"}, {"k": "WORD and WORD"}, [take("source", ".v", pattern(".k"))], {"k": "x and x"}),
    "pattern-without-match": ({"v": "x"}, {"k": "other"}, [take("source", ".v", pattern(".k"))], {"k": "other"}),
    "pattern-missing": ({"v": "x"}, {}, [take("source", ".v", pattern(".k"))], U),
    "pattern-in-number": ({"v": "x"}, {"k": 5}, [take("source", ".v", pattern(".k"))], U),
    "number-into-pattern": ({"v": 5}, {"k": "n=WORD"}, [take("source", ".v", pattern(".k"))], {"k": "n=5"}),
    "truth-into-pattern": ({"v": True}, {"k": "n=WORD"}, [take("source", ".v", pattern(".k"))], {"k": "n=True"}),
    "mapping-into-pattern": ({"v": {"b": 1}}, {"k": "WORD"}, [take("source", ".v", pattern(".k"))], {"k": "{'b': 1}"}),
    "backslash": ({"v": r"a\nb"}, {"k": "WORD"}, [take("source", ".v", pattern(".k"))], {"k": "a\nb"}),
    "bad-backslash": ({"v": r"a\1"}, {"k": "WORD"}, [take("source", ".v", pattern(".k"))], U),
    "recurse-none": ({"v": "x"}, {"r": NESTED}, [take("source", ".v", pattern(".r", 0))], {"r": NESTED}),
    "recurse-one": ({"v": "x"}, {"r": NESTED}, [take("source", ".v", pattern(".r", 1))], {"r": NESTED | {"t": "a x"}}),
    "recurse-two": (
        {"v": "x"},
        {"r": NESTED},
        [take("source", ".v", pattern(".r", 2))],
        {"r": {"t": "a x", "m": {"t": "x", "l": ["WORD", 5, {"t": "WORD"}]}}},
    ),
    "recurse-all": (
        {"v": "x"},
        NESTED,
        [take("source", ".v", pattern(".", -1))],
        {"t": "a x", "m": {"t": "x", "l": ["x", 5, {"t": "x"}]}},
    ),
    "recurse-needs-the-literal-word": (
        {"v": "x"},
        {"r": {"t": "aaa"}},
        [take("source", ".v", {"path": ".r", "pattern": "a+", "recurse": {"depth": -1}})],
        {"r": {"t": "aaa"}},
    ),
    "recurse-in-text": ({"v": "x"}, {"k": "WORD"}, [take("source", ".v", pattern(".k", -1))], {"k": "x"}),
    "no-such-source": ({}, {}, [take("unknown", ".v", ".k")], "SubstitutionSourceNotFound"),
    "itself": ({}, {"v": 1}, [take("user", ".v", ".k")], "SubstitutionDependencyCycle"),
}
STATUSES = {U: 500, "SubstitutionSourceNotFound": 409}


@pytest.mark.parametrize(("source", "data", "entries", "outcome"), SUBSTITUTIONS.values(), ids=SUBSTITUTIONS)
def test_substitutions(deckhand: Deckhand, source: Any, data: Any, entries: list[Any], outcome: Any):
    deckhand.put("b", policy(), doc("user", data, layer="global", substitutions=entries), doc("source", source))
    if isinstance(outcome, str) and outcome[0].isupper():
        answer = deckhand.call("GET", "/revisions/1/rendered-documents")
        assert error(answer) == (STATUSES.get(outcome, 400), outcome)
    else:
        assert deckhand.rendered(1)["user"] == outcome


def test_an_abstract_source_is_none(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("s", {"v": 1}, abstract=True), doc("u", substitutions=[take("s", ".v", ".k")]))
    assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (409, "SubstitutionSourceNotFound")


def test_substitution_passes_through_layers_in_any_order(deckhand: Deckhand):
    above = doc(
        "above", {"a": 1}, layer="global", labels={"k": "v"}, abstract=True, substitutions=[take("s", ".v", ".s")]
    )
    child = doc("child", {"own": 1}, parent={"k": "v"}, actions=[("merge", "."), ("delete", ".s.two")])
    last = doc("last", substitutions=[take("child", ".s", ".from")])
    source = doc("s", {"v": {"one": 1, "two": 2}})
    documents = [last, child, above, source]
    for order in (documents, documents[::-1]):
        revision = deckhand.put("b", policy(), *order)
        assert deckhand.rendered(revision)["child"] == {"a": 1, "own": 1, "s": {"one": 1}}
        assert deckhand.rendered(revision)["last"] == {"from": {"one": 1}}


def test_a_substitution_of_the_child_wins(deckhand: Deckhand):
    above = doc("above", {"v": "inherited"}, layer="global", labels={"k": "v"})
    child = doc("child", {"v": "own"}, parent={"k": "v"}, substitutions=[take("s", ".v", ".v")])
    deckhand.put("b", policy(), above, child, doc("s", {"v": "substituted"}))
    assert deckhand.rendered(1)["child"] == {"v": "substituted"}


@pytest.mark.parametrize(
    ("documents"),
    [
        [doc("a", substitutions=[take("b", ".x", ".y")]), doc("b", substitutions=[take("a", ".x", ".y")])],
        [
            doc("a", {"x": 1}, layer="global", labels={"k": "v"}, substitutions=[take("b", ".x", ".y")]),
            doc("b", parent={"k": "v"}),
        ],
    ],
    ids=["substitution", "layering-and-substitution"],
)
def test_circles(deckhand: Deckhand, documents: list[Any]):
    deckhand.put("b", policy(), *documents)
    assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (400, "SubstitutionDependencyCycle")


@pytest.mark.parametrize(
    ("behaviour", "src", "kept"),
    [(Behaviour(), {}, True), (DEFECTS, {}, False), (DEFECTS, {"deepcopy": True}, True)],
    ids=["correct", "as-seen", "as-seen-with-deepcopy"],
)
def test_a_substituted_value_may_stay_shared(start: Start, behaviour: Behaviour, src: Any, kept: bool):
    deckhand = start(behaviour=behaviour)
    entries = [take("source", ".v", ".k", **src), take("port", ".n", ".k.deep.port")]
    deckhand.put(
        "b",
        policy(),
        doc("source", {"v": {"deep": {"port": 1}}}),
        doc("port", {"n": 2}),
        doc("user", substitutions=entries),
    )
    rendered = deckhand.rendered(1)
    assert rendered["user"] == {"k": {"deep": {"port": 2}}}
    assert (rendered["source"] == {"v": {"deep": {"port": 1}}}) == kept
