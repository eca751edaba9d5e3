"""The whole etcd simulator: the ports of its members, and a port for tests."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.etcd.app import control_app, member_app
from shipyard_simulators.etcd.cluster import Member, MemberState, SimulatedEtcd
from shipyard_simulators.etcd.programs import Programs, server_tls
from shipyard_simulators.events import EventLog
from shipyard_simulators.server import Simulated, in_thread


class EtcdSimulator(Simulated):
    """A simulated cluster on 127.0.0.1; its own URL has the routes for tests, ``endpoints`` are the members'.

    ``names``: the members, which have been running for long. ``tls``: the files of an authority, of the members'
    certificate and of its key; then clients must show a certificate of that authority. ``prefix``: of the gateway.
    ``clock`` replaces the one of ``time_scale``.
    """

    def __init__(
        self,
        *,
        names: Iterable[str] = ("m1", "m2", "m3"),
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        tls: tuple[Path, Path, Path] | None = None,
        prefix: str = "/v3",
        clock: Clock | None = None,
    ) -> None:
        clock, log = clock or Clock(time_scale), EventLog(log_file)
        self.cluster = SimulatedEtcd(clock)
        context = server_tls(*tls) if tls else None
        self.programs = Programs(
            self.cluster, lambda member: member_app(self.cluster, member, clock, log, prefix=prefix), context
        )
        super().__init__(control_app(self.programs, log), port, log)
        for name in names:
            self.programs.put(name, MemberState.RUNNING, old=True)

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The client URLs of the members."""
        return tuple(member.urls[0] for member in self.cluster.members)

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._log.events()

    def put(self, name: str, state: MemberState = MemberState.RUNNING, *, learner: bool = False) -> Member:
        """Give a member a state; one that the cluster does not have is added."""
        return self.programs.put(name, state, learner=learner)

    def _close(self) -> None:
        self.programs.stop()


def running(**options: Any) -> AbstractContextManager[EtcdSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of EtcdSimulator."""
    return in_thread(EtcdSimulator(**options))
