"""Headlines: facts that get a line of their own in the program's log."""

from dataclasses import dataclass

from shipyard_api.domain.facts.cases import CaseOpened
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
    match fact:
        case RolloutEnded():
            return Headline("rollout ended", fact.to_json())
        case CaseOpened(case):
            return Headline("case opened", {"case": case.sentence, "command": case.command})
    return None
