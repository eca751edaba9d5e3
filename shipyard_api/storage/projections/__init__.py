"""Projections: the rows that readers are shown, brought up to date by facts. One module a table."""

from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import ActionId


@dataclass(frozen=True, slots=True)
class Line:
    """Where and when a fact was recorded."""

    action: ActionId
    epoch: int
    step: str | None
    at: datetime
    worker: str
