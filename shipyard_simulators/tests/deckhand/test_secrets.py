"""Secrets: references, and redacted renderings (contract, B9)."""

import re
from dataclasses import replace
from typing import Any

import pytest

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.tests.deckhand.client import Deckhand, Start, doc, name_of, policy, sha, take


@pytest.fixture
def secrets(deckhand: Deckhand) -> Deckhand:
    """A secret, and who took it: directly, through another, and by inheritance."""
    deckhand.put(
        "b",
        policy(),
        doc("secret", {"v": "hunter2"}, layer="global", labels={"s": "s"}, secret=True),
        doc("direct", {"x": 1}, layer="global", labels={"d": "d"}, substitutions=[take("secret", ".v", ".k")]),
        doc("indirect", substitutions=[take("direct", ".k", ".k")]),
        doc("child", {"c": 1}, parent={"s": "s"}),
        doc("grandchild", {"c": 1}, parent={"d": "d"}),
    )
    return deckhand


def test_a_stored_secret_is_a_reference(secrets: Deckhand):
    reference = secrets.raw(1)["secret"]
    assert re.fullmatch(r"http://barbican/.*/secrets/[0-9a-f-]{36}", reference)
    assert "hunter2" not in secrets.call("GET", "/revisions/1/documents").text
    assert secrets.raw(1, **{"cleartext-secrets": "false"})["secret"] == sha(reference)


@pytest.mark.parametrize("query", [{}, {"cleartext-secrets": "true"}], ids=["default", "asked"])
def test_a_clear_rendering_shows_everything(secrets: Deckhand, query: dict[str, str]):
    assert secrets.rendered(1, **query) == {
        "secret": {"v": "hunter2"},
        "direct": {"x": 1, "k": "hunter2"},
        "indirect": {"k": "hunter2"},
        "child": {"v": "hunter2", "c": 1},
        "grandchild": {"x": 1, "k": "hunter2", "c": 1},
    }


REDACTED = {
    "secret": sha({"v": "hunter2"}),
    "direct": sha({"x": 1, "k": "hunter2"}),
    "indirect": sha({"k": "hunter2"}),
    # These two leak, as the real one lets them.
    "child": {"v": "hunter2", "c": 1},
    "grandchild": {"x": 1, "k": "hunter2", "c": 1},
}


def test_a_redacted_rendering_hides_most(secrets: Deckhand):
    assert secrets.rendered(1, **{"cleartext-secrets": "false"}) == REDACTED
    shown = {
        name_of(each): each for each in secrets.list("/revisions/1/rendered-documents", {"cleartext-secrets": "false"})
    }
    direct = shown["direct"]["metadata"]
    assert direct["storagePolicy"] == "encrypted"
    assert direct["substitutions"][0] == take("secret", sha(".v"), sha(".k"))
    assert shown["child"]["metadata"]["storagePolicy"] == "cleartext"


def test_one_cache_for_clear_and_redacted(secrets: Deckhand):
    clear = secrets.rendered(1)
    redacted = secrets.rendered(1, **{"cleartext-secrets": "false"})
    assert redacted == clear | {"secret": REDACTED["secret"]}


def test_after_a_redacted_reading_a_clear_one_shows_hashes(secrets: Deckhand):
    secrets.rendered(1, **{"cleartext-secrets": "false"})
    assert secrets.rendered(1) == REDACTED


def test_a_well_behaved_one_keeps_two_caches(start: Start):
    deckhand = start(behaviour=replace(Behaviour(), one_cache=False))
    user = doc("user", substitutions=[take("secret", ".v", ".k")])
    deckhand.put("b", policy(), doc("secret", {"v": 1}, secret=True), user)
    for _ in range(2):
        assert deckhand.rendered(1)["user"] == {"k": 1}
        assert deckhand.rendered(1, **{"cleartext-secrets": "false"})["user"] == sha({"k": 1})


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ("", "cleartext"),
        ({}, "cleartext"),
        ([], "cleartext"),
        (None, "cleartext"),
        (0, "encrypted"),
        ("x", "encrypted"),
    ],
    ids=str,
)
def test_nothing_empty_is_a_secret(deckhand: Deckhand, data: Any, stored: str):
    document = doc("a", secret=True) | {"data": data}
    deckhand.put("b", document)
    shown = deckhand.list("/revisions/1/documents")[0]
    assert shown["metadata"]["storagePolicy"] == stored
    assert stored == "encrypted" or shown["data"] == data
