"""Facts as the journal stores them: every kind is read as it was written, and what another release wrote is kept."""

import json
from collections.abc import Mapping
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import Any, ClassVar

import pytest

from shipyard_api.domain import facts
from shipyard_api.domain.facts import codec
from shipyard_api.domain.facts.codec import KINDS, decode, encode
from shipyard_api.domain.facts.fact import Fact, UnknownFact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.steps import Intended
from shipyard_api.domain.findings import DocumentRef, error
from tests.factories import group, strategy
from tests.stored_facts import N1, N2, SAMPLES, A, B
from tests.unit.tables import every_row


@every_row(SAMPLES)
def test_a_stored_fact_of_version_1_is_read_and_written_as_it_is(kind: str, stored: dict[str, Any], fact: Fact) -> None:
    fact_read = decode(kind, stored)
    assert fact_read == fact
    # As text: the order of keys counts too, and whole numbers stay whole.
    assert json.dumps(encode(fact)) == json.dumps(encode(fact_read)) == json.dumps(stored)
    assert fact.kind == kind


def test_every_kind_has_a_sample() -> None:
    assert {kind for kind, _, _ in SAMPLES.values()} == set(KINDS)


# Parts that came after the first rows of a kind, with the value that those rows are read with.
LATER_PARTS = {
    "shortfalls": ("a group fails", "shortfalls", ()),
    "critical": ("a rollout ends", "critical", ()),
    "batch of a start": ("a phase begins", "batch", 1),
    "batch of an end": ("a phase ends", "batch", 1),
    "what differs": ("nodes are left", "differs", {}),
    "whether steps can run": ("nodes are left", "services", False),
    "batch that joins": ("nodes join", "batch", 1),
}


@every_row(LATER_PARTS)
def test_a_row_from_before_a_part_was_written_is_read(sample: str, part: str, value: Any) -> None:
    kind, stored, _ = SAMPLES[sample]
    fact = decode(kind, {key: one for key, one in stored.items() if key != part})

    assert getattr(fact, part) == value


def test_the_journal_keeps_how_many_members_there_are() -> None:
    fact = MembersKnown.of(strategy(group("a"), group("b")), {A: frozenset({N1, N2}), B: frozenset({N2})})

    assert encode(fact) == {"groups": 2, "nodes": 2}
    assert [(one.name, nodes) for one, nodes in fact.membership] == [("a", {N1, N2}), ("b", {N2})]


def test_the_address_of_the_design_is_not_stored() -> None:
    secret = "http://ann:s3cret@shipyard/5"
    facts = (Intended("m-1", 1, {"design": secret, "v": 1}), WorkLeftBehind("verify_site", "j", secret, None, "why"))

    assert [secret in str(encode(fact)) for fact in facts] == [False, False]
    assert encode(facts[0])["effect"] == {"v": 1}


UNKNOWN: dict[str, tuple[str, Any]] = {
    "a kind of a later release": ("node_drained", {"node": "n1"}),
    "a version of a later release": ("noted", {"v": 2, "kind": "Parameter", "text": "x", "more": "y"}),
    "a version that is no number": ("noted", {"v": "x", "kind": "Parameter", "text": "x"}),
    "a version that nobody has": ("noted", {"v": 0, "kind": "Parameter", "text": "x"}),
    "another form": ("phase_started", {"zone": "a", "machines": 3}),
    "a word of a later release": ("group_changed", {"group": "a", "status": "draining"}),
    "no object": ("noted", ["a", 1]),
    "nothing": ("noted", None),
}


@every_row(UNKNOWN)
def test_what_this_release_does_not_know_is_kept_as_it_is(kind: str, stored: Any) -> None:
    assert decode(kind, stored) == UnknownFact(kind, stored)


ODD: list[Any] = [None, True, 5, "text", ["text"], {"a": 1}, {"a": ["n1"]}, [5, None], {"n1": {"x": []}}]


@every_row(SAMPLES)
def test_a_stored_fact_of_any_shape_is_read_or_kept(sample: tuple[str, dict[str, Any], Fact]) -> None:
    kind, stored, _ = sample
    for part, odd in product(stored, ODD):
        fact = decode(kind, {**stored, part: odd})
        assert fact == UnknownFact(kind, {**stored, part: odd}) or isinstance(fact, KINDS[kind])


class Renamed:
    """A kind whose stored form has changed: what was ``text`` is ``words``."""

    kind: ClassVar[str] = "renamed"
    version: ClassVar[int] = 2

    def __init__(self, words: str) -> None:
        self.words = words

    def to_json(self) -> Mapping[str, Any]:
        return {"words": self.words}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Renamed":
        return cls(stored["words"] if stored.get("v") == 2 else stored["text"])


def test_a_kind_with_a_second_version_writes_it_and_reads_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "KINDS", {"renamed": Renamed})

    assert encode(Renamed("a")) == {"words": "a", "v": 2}
    assert [decode("renamed", stored).words for stored in ({"text": "a"}, {"words": "a", "v": 2})] == ["a", "a"]
    assert decode("renamed", {"v": 3}) == UnknownFact("renamed", {"v": 3})


def test_every_fact_of_every_noun_is_known() -> None:
    modules = [import_module(f"{facts.__name__}.{one.name}") for one in iter_modules(facts.__path__)]
    defined = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Fact) and value is not Fact
    }

    assert defined == {*KINDS.values()}


def test_a_finding_keeps_the_places_in_its_documents() -> None:
    finding = error("F", "m", path="/metadata/x").about(DocumentRef("a/B/v1", "one", path="/metadata/x"))

    (document,) = FindingReported.from_json(FindingReported(finding).to_json()).finding.documents

    assert document.path == "/metadata/x"
