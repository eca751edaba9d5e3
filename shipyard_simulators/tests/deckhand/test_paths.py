"""Paths, as substitutions read and write them (contract, B6)."""

from typing import Any

import pytest
import yaml

from shipyard_simulators.tests.deckhand.client import FAST, Deckhand, doc, error, policy, take

TREE = {
    "a": {"b-c": 1, "5": "five", "d.e": "dotted", "f/g": "slash", "@h": "at"},
    "list": [{"n": 1}, {"n": 2}, {"n": 3}],
    "deep": {"er": {"n": 9}},
}

READING: dict[str, Any] = {
    ".": TREE,
    "$": TREE,
    ".a.b-c": 1,
    "$.a.b-c": 1,
    ".a.5": "five",
    ".a.@h": "at",
    ".a.'d.e'": "dotted",
    '.a."f/g"': "slash",
    ".a['d.e']": "dotted",
    ".list[1].n": 2,
    ".list.[1].n": 2,
    ".list[-1].n": 3,
    ".list[*].n": 1,
    ".list[1:3].n": 2,
    ".list[2,0].n": 3,
    "..n": 1,
    ".deep.*.n": 9,
    "a.b-c": 1,
}


@pytest.mark.parametrize(("path", "value"), READING.items(), ids=READING)
def test_paths_are_read(deckhand: Deckhand, path: str, value: Any):
    user = doc("user", substitutions=[take("tree", path, ".got")])
    deckhand.put("b", policy(), doc("tree", TREE), user)
    assert deckhand.rendered(1)["user"] == {"got": value}


@pytest.mark.parametrize("path", [".5a", ".a..", ".a b", ".a[", ".a[?(@.b)]", ".a!"])
def test_paths_that_cannot_be_read(deckhand: Deckhand, path: str):
    deckhand.put("b", policy(), doc("tree", TREE), doc("user", substitutions=[take("tree", path, ".got")]))
    status, kind = error(deckhand.call("GET", "/revisions/1/rendered-documents"))
    assert (status, kind in ("JsonPathParserError", "JsonPathLexerError")) == (500, True)


WRITING: dict[str, tuple[Any, str, Any]] = {
    "key": ({}, ".k", {"k": 7}),
    "over": ({"k": {"x": 1}}, ".k", {"k": 7}),
    "below": ({}, ".k.l.m", {"k": {"l": {"m": 7}}}),
    "quoted": ({}, ".'k'.l", {"k": {"l": 7}}),
    "list": ({}, ".k[2]", {"k": [{}, {}, 7]}),
    "list-below": ({}, ".k[1].l", {"k": [{}, {"l": 7}]}),
    "padded": ({"k": [1]}, ".k[2]", {"k": [1, {}, 7]}),
    "element": ({"k": [1, 2]}, ".k[0]", {"k": [7, 2]}),
    "all-elements": ({"k": [{"n": 1}, {"n": 2}]}, ".k[*].n", {"k": [{"n": 7}, {"n": 7}]}),
    "no-elements": ({"k": []}, ".k[*].n", "UnknownSubstitutionError"),
    "through-text": ({"k": "text"}, ".k.l", "UnknownSubstitutionError"),
    "whole": ({"k": 1}, ".", 7),
    "no-root": ({}, "k", "UnknownSubstitutionError"),
    "unreadable": ({}, ".k[", "UnknownSubstitutionError"),
}


@pytest.mark.parametrize(("data", "path", "outcome"), WRITING.values(), ids=WRITING)
def test_paths_are_written(deckhand: Deckhand, data: Any, path: str, outcome: Any):
    user = doc("user", data, substitutions=[take("source", ".v", path)])
    deckhand.put("b", policy(), doc("source", {"v": 7}), user)
    if isinstance(outcome, str):
        answer = deckhand.call("GET", "/revisions/1/rendered-documents")
        assert error(answer) == (500, outcome)
        assert yaml.load(answer.text, Loader=FAST)["message"] == ""
    else:
        assert deckhand.rendered(1)["user"] == outcome
