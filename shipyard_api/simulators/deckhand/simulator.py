"""The whole simulator: its parts put together, and a port to reach them by."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from shipyard_api.simulators.clock import Clock
from shipyard_api.simulators.deckhand.app import create_app
from shipyard_api.simulators.deckhand.behaviour import Behaviour
from shipyard_api.simulators.events import EventLog
from shipyard_api.simulators.scenario import Scenario
from shipyard_api.simulators.server import Server, in_thread


class Simulator:
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
        self._log = EventLog(log_file)
        app = create_app(
            behaviour or Behaviour(),
            scenario or Scenario(),
            Clock(time_scale),
            self._log,
            token=token,
            denied=denied,
        )
        # Deckhand refuses a body without a type in another way than one of a wrong type.
        self._server = Server(app, port, untyped="")

    @property
    def url(self) -> str:
        """Where it listens, without the path of the API."""
        return self._server.url

    def requests(self) -> list[dict[str, Any]]:
        """Return every request so far, as the log has it."""
        return self._log.events()

    def serve(self) -> None:
        """Answer requests until ``stop`` is called from another thread."""
        # The interval only says how soon stop is noticed.
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """End ``serve``; to be called once, from another thread."""
        self._server.shutdown()

    def __enter__(self) -> "Simulator":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._server.server_close()
        self._log.close()


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[Simulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of Simulator."""
    return in_thread(Simulator(scenario, **options))
