"""Projections: the rows that readers are shown, brought up to date by facts. One module a table."""

from datetime import datetime

from msgspec import Struct

from shipyard_api.domain.actions import ActionId


class Line(Struct, frozen=True):
    """Where and when a fact was recorded."""

    action: ActionId
    epoch: int
    step: str | None
    at: datetime
    worker: str
