"""The wake-up port and the worker loop, filled by Procrastinate on the same Postgres."""

from collections.abc import Iterator
from dataclasses import dataclass

from shipyard_api.settings.types import Port


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The worker process; all times in seconds.

    ``concurrency``: how many turns run at once, beside those that wait for a slow peer.
    ``poll_seconds``: how often the queue is polled while a turn is due that waits for another one of its action.
    ``heartbeat_seconds``: how often the worker sends a heartbeat, and takes over the work of dead workers.
    ``stalled_seconds``: time without a heartbeat after which a worker is considered dead; a killed one is at once. A
    worker whose database is silent for half of it exits.
    ``sweep_seconds``: how often to search for overdue actions.
    ``overdue_seconds``: how late an action may be before it is woken again.
    ``graceful_seconds``: how long running turns may take to end when the worker stops.
    ``status_port``: port of the worker's probes and metrics; 0: none.
    ``status_address``: address of that port. It has no authentication: restrict access to its network.
    ``sites_at_once``: with --sites, how many sites may have a worker at the same time; a site without work needs none.
    """

    concurrency: int = 8
    poll_seconds: float = 0.5
    heartbeat_seconds: float = 1.5
    stalled_seconds: float = 7.0
    sweep_seconds: int = 5
    overdue_seconds: float = 10.0
    graceful_seconds: float = 30.0
    status_port: Port = Port(0)  # noqa: RUF009  # immutable
    status_address: str = "127.0.0.1"
    sites_at_once: int = 50

    def faults(self) -> Iterator[str]:
        """Yield the settings that contradict each other."""
        if self.heartbeat_seconds > self.stalled_seconds / 2:
            yield "[worker] heartbeat_seconds must be at most half of stalled_seconds, or living workers count as dead"
