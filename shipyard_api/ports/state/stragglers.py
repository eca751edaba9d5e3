"""Stragglers: accepted work that its action no longer waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.provisioner import JobId, JobReport, Work


@dataclass(frozen=True, slots=True)
class Straggler:
    """Work that continues although its action no longer waits for it; ``why`` the action stopped waiting."""

    action: ActionId
    job: JobId
    work: Work
    why: str
    since: datetime


class Stragglers(Protocol):
    """Stragglers, until their provisioner reports their end."""

    def open(self) -> Sequence[Straggler]:
        """Return all stragglers that have not ended, oldest first."""

    def due(self, *, now: datetime, pause: float) -> Sequence[Straggler]:
        """Return the stragglers that are due, and postpone them by ``pause`` seconds, so that one worker polls each."""

    def end(self, straggler: Straggler, report: JobReport, *, now: datetime, worker: str) -> None:
        """Record its outcome as a late event of its action; a second call changes nothing."""
