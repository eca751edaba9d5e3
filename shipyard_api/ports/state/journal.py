"""The journal: what happened to actions, in the order in which it was written."""

from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One thing that happened to an action, in the order in which it was written."""

    id: int
    epoch: int
    step: StepId | None
    kind: str
    at: datetime
    worker: str
    facts: JsonObject
