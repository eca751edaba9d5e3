"""Headlines: facts that get a line of their own in the program's log."""

from dataclasses import dataclass

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import RolloutEnded
from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Headline:
    """A log line: a constant message, and its fields."""

    message: str
    fields: JsonObject


def headline(fact: Fact) -> Headline | None:
    """Return the log line of a fact; None for most facts, which only the journal shows."""
    return Headline("rollout ended", fact.to_json()) if isinstance(fact, RolloutEnded) else None
