"""The whole Deckhand simulator and its port."""

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
    """A simulated Deckhand. It listens on 127.0.0.1 from the start and answers while ``serve`` runs.

    ``scenario``: only its service faults are used. ``time_scale``: real seconds per nominal second; ``clock``
    replaces it. ``token``: the token that clients must send (None: any token). ``denied``: rights that no caller has.
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
        clock: Clock | None = None,
    ) -> None:
        log = EventLog(log_file)
        app = create_app(
            behaviour or Behaviour(),
            scenario or Scenario(),
            clock or Clock(time_scale),
            log,
            token=token,
            denied=denied,
        )
        # Deckhand rejects a body without a type in another way than one of a wrong type.
        super().__init__(app, port, log, untyped="")

    def requests(self) -> list[dict[str, Any]]:
        """Return every request so far, as logged."""
        return self._log.events()


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[DeckhandSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of DeckhandSimulator."""
    return in_thread(DeckhandSimulator(scenario, **options))
