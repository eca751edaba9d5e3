"""Stragglers: accepted work that its action no longer waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.provisioner import JobId, JobReport, Work


@dataclass(frozen=True, slots=True)
class Straggler:
    """Work that goes on although its action no longer waits for it; ``why`` we stopped waiting."""

    action: ActionId
    job: JobId
    work: Work
    why: str
    since: datetime


class Stragglers(Protocol):
    """Work that was left behind, until its provisioner says that it has ended."""

    def open(self) -> Sequence[Straggler]:
        """Return all that have not ended, the oldest first."""

    def due(self, *, now: datetime, pause: float) -> Sequence[Straggler]:
        """Return those that are to be looked at, and put their next look ``pause`` seconds off: one worker looks."""

    def end(self, straggler: Straggler, report: JobReport, *, now: datetime, worker: str) -> None:
        """Record how it ended, as a late event of its action; a second time changes nothing."""
