"""The whole simulator: its parts put together, and a port to reach them by."""

from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.app import create_app
from shipyard_simulators.drydock.designs import Designs
from shipyard_simulators.drydock.orchestrator import Orchestrator
from shipyard_simulators.events import EventLog
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated


class DrydockSimulator(Simulated):
    """A Drydock over a simulated site, listening on this machine from the start; ``serve`` answers.

    ``time_scale``: seconds that a nominal second takes; ``clock`` replaces it, and its time. ``design_token``: sent
    when a design is fetched from Deckhand. ``token``: what clients have to send; None lets everybody in.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        design_token: str | None = None,
        token: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock, designs = clock or Clock(time_scale), Designs(design_token)
        log = EventLog(log_file)
        self._orchestrator = Orchestrator(scenario, clock, designs, log)
        super().__init__(create_app(self._orchestrator, designs, clock, log, token=token), port, log)

    def events(self) -> list[dict[str, Any]]:
        """Return the log so far."""
        return self._orchestrator.look(lambda _tasks, _site, _now: self._log.events())

    def _begin(self) -> None:
        self._orchestrator.start()

    def _end(self) -> None:
        self._orchestrator.stop()
