"""The whole Kubernetes simulator and its port."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.deployments import Deployments
from shipyard_simulators.events import EventLog
from shipyard_simulators.kubernetes.app import create_app
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.manifests import add_manifests
from shipyard_simulators.kubernetes.versions import VERSIONS
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated, in_thread


class KubernetesSimulator(Simulated):
    """A simulated cluster. It listens on 127.0.0.1 from the start and answers while ``serve`` runs.

    ``time_scale``: real seconds per nominal second; ``clock`` replaces it. ``nodes``: machines that are expected to
    join, from the start.
    ``token``: the token that clients must send (None: any client is accepted). ``version``: one of ``VERSIONS``.
    ``follow``: the event log of a simulated provisioner; the machines that it deploys join.
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
        version: str = "1.31",
        clock: Clock | None = None,
        follow: Path | None = None,
    ) -> None:
        clock = clock or Clock(time_scale)
        log = EventLog(log_file)
        policy = "v1beta1" if version == "1.20" else "v1"
        deployments = Deployments(follow) if follow else None
        self._cluster = SimulatedCluster(scenario or Scenario(), clock, log, policy=policy, deployments=deployments)
        self.expect(*nodes)
        app = create_app(self._cluster, clock, log, token=token, kubernetes=VERSIONS[version])
        super().__init__(app, port, log)

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

    def add(self, *manifests: dict[str, Any]) -> None:
        """Add objects, with their status."""
        self._cluster.look(lambda: add_manifests(self._cluster, manifests))

    def stop_kubelet(self, name: str) -> None:
        """Stop the kubelet of a node."""
        self._cluster.look(lambda: self._cluster.stop_kubelet(name.lower()))

    def compact(self) -> None:
        """Expire every list that is being read page by page."""
        self._cluster.look(self._cluster.kept.clear)


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[KubernetesSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of KubernetesSimulator."""
    return in_thread(KubernetesSimulator(scenario, **options))
