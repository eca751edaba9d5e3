"""The whole simulator: its parts put together, and a port to reach them by."""

from pathlib import Path
from types import TracebackType
from typing import Any

from shipyard_api.simulators.clock import Clock
from shipyard_api.simulators.drydock.app import create_app
from shipyard_api.simulators.drydock.designs import Designs
from shipyard_api.simulators.drydock.orchestrator import Orchestrator
from shipyard_api.simulators.events import EventLog
from shipyard_api.simulators.scenario import Scenario
from shipyard_api.simulators.server import Server


class Simulator:
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
        self._log = EventLog(log_file)
        self._orchestrator = Orchestrator(scenario, clock, designs, self._log)
        self._server = Server(create_app(self._orchestrator, designs, clock, self._log, token=token), port)

    @property
    def url(self) -> str:
        """Where it listens, without the path of the API."""
        return self._server.url

    def events(self) -> list[dict[str, Any]]:
        """Return the log so far."""
        return self._orchestrator.look(lambda _tasks, _site, _now: self._log.events())

    def serve(self) -> None:
        """Answer requests and run tasks until ``stop`` is called from another thread."""
        self._orchestrator.start()
        # The interval only says how soon stop is noticed.
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """End ``serve``; to be called once, from another thread."""
        self._server.shutdown()
        self._orchestrator.stop()

    def __enter__(self) -> "Simulator":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._server.server_close()
        self._log.close()
