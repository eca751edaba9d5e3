"""The whole Drydock simulator and its port."""

from pathlib import Path
from typing import Any

from shipyard_simulators.addresses import Addresses
from shipyard_simulators.clock import Clock
from shipyard_simulators.deployments import DESIGN
from shipyard_simulators.drydock.app import create_app
from shipyard_simulators.drydock.designs import Designs
from shipyard_simulators.drydock.orchestrator import Orchestrator
from shipyard_simulators.events import EventLog
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated


class DrydockSimulator(Simulated):
    """A simulated Drydock. It listens on 127.0.0.1 from the start and answers while ``serve`` runs.

    ``time_scale``: real seconds per nominal second; ``clock`` replaces it. ``design_token``: sent when a design is
    fetched from Deckhand. ``token``: the token that clients must send (None: any client is accepted).
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
        clock, log = clock or Clock(time_scale), EventLog(log_file)

        def noted(found: Addresses) -> None:
            log.write(clock.now(), DESIGN, addresses=found)

        designs = Designs(design_token, noted)
        self._orchestrator = Orchestrator(scenario, clock, designs, log)
        super().__init__(create_app(self._orchestrator, designs, clock, log, token=token), port, log)

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._orchestrator.look(lambda _tasks, _site, _now: self._log.events())

    def _begin(self) -> None:
        self._orchestrator.start()

    def _end(self) -> None:
        self._orchestrator.stop()
