"""The one time of a tortured site, of its workers, its API and its peers; its database may have it wrong."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.torture.virtual_database import VirtualDatabase
from tests.virtual_time import VirtualClock

_OF_PEERS = ("orchestrator", "conductor")  # threads of simulators that follow the time
_MOST_LOOKS = 20_000  # at one moment: hundreds of turns


class NoTimePasses(BaseException):
    """Something is done again and again without a pause. No ``except Exception`` of the product catches it."""


@dataclass
class TorturedClock(VirtualClock):
    """Virtual time that the database reads, too. ``ahead``: seconds by which the database's host has it wrong."""

    database: VirtualDatabase = field(kw_only=True)
    ahead: float = 0.0
    _looks: int = 0

    def monotonic(self) -> float:
        """Return the time; raises NoTimePasses if work goes on without any wait."""
        self._looks += 1
        if self._looks > _MOST_LOOKS:
            raise NoTimePasses(f"it is still {self.at}: something is done again and again without a pause")
        return super().monotonic()

    def __post_init__(self) -> None:
        self.tell()

    def of_database(self) -> datetime:
        """Return the time by the clock of the database's host."""
        return self.at + timedelta(seconds=self.ahead)

    def tell(self) -> None:
        """Let the database know what time it is."""
        self.database.tell(self.of_database())

    def rest(self) -> None:
        """Return when every thread of a simulator has seen what time it is, and waits."""
        self.advance(0.0)

    def await_peers(self) -> None:
        """Return when each thread that a simulator has just started follows the time."""
        while any(one.name in _OF_PEERS and one not in self._waiting for one in threading.enumerate()):
            with self._rested:
                self._rested.wait(0.001)
        self.rest()

    def _go_to(self, moment: datetime) -> None:
        if moment > self.at:
            self._looks = 0
        super()._go_to(moment)
        self.tell()
