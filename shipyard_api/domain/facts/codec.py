"""Facts as the journal stores them: a kind, and JSON with its version under ``v``, where none means version 1."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from shipyard_api.domain.facts import (
    actions,
    cases,
    findings,
    groups,
    jobs,
    nodes,
    phases,
    policy,
    software,
    steps,
    teardown,
)
from shipyard_api.domain.facts.fact import Fact, JournalFact, Malformed, UnknownFact
from shipyard_api.domain.json_types import JsonObject

_NOUNS = (actions, steps, groups, phases, nodes, jobs, findings, teardown, software, policy, cases)

KINDS: Mapping[str, type[Fact]] = {fact.kind: fact for fact in chain.from_iterable(noun.FACTS for noun in _NOUNS)}


def encode(fact: Fact) -> JsonObject:
    """Return the stored form of a fact."""
    stored = fact.to_json()
    return stored if fact.version == 1 else {**stored, "v": fact.version}


def decode(kind: str, stored: Any) -> JournalFact:
    """Return the fact of a journal line; an UnknownFact if this release does not know its kind, version or form."""
    fact = KINDS.get(kind)
    if fact is None or not isinstance(stored, Mapping) or stored.get("v", 1) not in range(1, fact.version + 1):
        return UnknownFact(kind, stored)
    try:
        return fact.from_json(stored)
    except Malformed:
        return UnknownFact(kind, stored)
