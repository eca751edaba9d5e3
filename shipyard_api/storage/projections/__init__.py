"""Projections: rows for readers, brought up to date by facts, one module a table. Here: a fact with its line."""

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
