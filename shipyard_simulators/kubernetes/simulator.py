"""The whole Kubernetes simulator and its port."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.kubernetes.app import create_app
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated, in_thread


class KubernetesSimulator(Simulated):
    """A simulated cluster. It listens on 127.0.0.1 from the start and answers while ``serve`` runs.

    ``time_scale``: real seconds per nominal second. ``nodes``: machines that are expected to join, from the start.
    ``token``: the token that clients must send (None: any client is accepted).
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        nodes: Iterable[str] = (),
        token: str | None = None,
    ) -> None:
        clock = Clock(time_scale)
        log = EventLog(log_file)
        self._cluster = SimulatedCluster(scenario or Scenario(), clock, log)
        self.expect(*nodes)
        super().__init__(create_app(self._cluster, clock, log, token=token), port, log)

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._cluster.look(self._log.events)

    def expect(self, *names: str) -> None:
        """Expect machines to join, from now on, as the scenario says."""
        self._cluster.look(lambda: self._cluster.expect(name.lower() for name in names))

    def join(self, *names: str) -> None:
        """Let machines join now."""
        for name in names:
            self._cluster.look(lambda name=name: self._cluster.join(name.lower()))  # type: ignore[misc]  # bound early

    def compact(self) -> None:
        """Expire every list that is being read page by page."""
        self._cluster.look(self._cluster.kept.clear)


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[KubernetesSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of KubernetesSimulator."""
    return in_thread(KubernetesSimulator(scenario, **options))
