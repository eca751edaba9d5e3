"""How a worker process works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker process works; all times in seconds.

    ``concurrency``: how many turns run at once.
    ``poll_seconds``: how often the queue is looked at for turns that have become due.
    ``heartbeat_seconds``: how often the worker says that it lives.
    ``stalled_seconds``: after how long without that it is taken for dead and its work is taken up by others.
    ``sweep_seconds``: how often dead workers and overdue actions are looked for (whole seconds, 1 to 59).
    ``overdue_seconds``: how late an action may be before it is woken once more.
    ``graceful_seconds``: how long running turns get to end when the worker is asked to stop.
    """

    concurrency: int = 8
    poll_seconds: float = 0.5
    heartbeat_seconds: float = 2.0
    stalled_seconds: float = 10.0
    sweep_seconds: int = 5
    overdue_seconds: float = 10.0
    graceful_seconds: float = 30.0
