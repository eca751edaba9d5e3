"""The section [worker] of the settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The worker process; all times in seconds.

    ``concurrency``: how many turns run at once.
    ``poll_seconds``: how often the queue is polled for due turns.
    ``heartbeat_seconds``: how often the worker sends a heartbeat.
    ``stalled_seconds``: time without a heartbeat after which a worker is considered dead and others take over its work.
    ``sweep_seconds``: how often to search for dead workers and overdue actions (whole seconds, 1 to 59).
    ``overdue_seconds``: how late an action may be before it is woken again.
    ``graceful_seconds``: how long running turns may take to end when the worker stops.
    """

    concurrency: int = 8
    poll_seconds: float = 0.5
    heartbeat_seconds: float = 2.0
    stalled_seconds: float = 10.0
    sweep_seconds: int = 5
    overdue_seconds: float = 10.0
    graceful_seconds: float = 30.0
