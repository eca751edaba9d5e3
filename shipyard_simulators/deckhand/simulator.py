"""The whole simulator: its parts put together, and a port to reach them by."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.deckhand.app import create_app
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.events import EventLog
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated, in_thread


class DeckhandSimulator(Simulated):
    """A Deckhand with its documents in memory, listening on this machine from the start; ``serve`` answers.

    ``scenario``: only its service faults matter here. ``time_scale``: seconds that a nominal second takes.
    ``token``: what clients have to send; None takes any. ``denied``: rights that no caller has.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        behaviour: Behaviour | None = None,
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        token: str | None = None,
        denied: frozenset[str] = frozenset(),
    ) -> None:
        log = EventLog(log_file)
        app = create_app(
            behaviour or Behaviour(),
            scenario or Scenario(),
            Clock(time_scale),
            log,
            token=token,
            denied=denied,
        )
        # Deckhand refuses a body without a type in another way than one of a wrong type.
        super().__init__(app, port, log, untyped="")

    def requests(self) -> list[dict[str, Any]]:
        """Return every request so far, as the log has it."""
        return self._log.events()


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[DeckhandSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of DeckhandSimulator."""
    return in_thread(DeckhandSimulator(scenario, **options))
