"""The routes below ``/simulator``, for tests and demonstrations. A real Drydock has none of them."""

from typing import Any

import falcon

from shipyard_simulators.clock import stamp
from shipyard_simulators.drydock.orchestrator import Orchestrator, requested
from shipyard_simulators.drydock.site import Site
from shipyard_simulators.drydock.task_views import collected
from shipyard_simulators.drydock.tasks import Task
from shipyard_simulators.events import EventLog


class Log:
    """The event log."""

    def __init__(self, orchestrator: Orchestrator, log: EventLog) -> None:
        self._orchestrator = orchestrator
        self._log = log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return all events in order."""
        # A read logs due messages, even if the orchestrator has not woken up for it yet.
        resp.media = self._orchestrator.look(lambda _tasks, _site, _now: self._log.events())


class RequestedTasks:
    """The tasks that clients requested, without their subtasks."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return them, oldest first."""

        def read(tasks: dict[str, Task], _site: Site, now: float) -> list[dict[str, Any]]:
            return [_summary(task, now) for task in requested(tasks.values())]

        resp.media = self._orchestrator.look(read)


def _summary(task: Task, now: float) -> dict[str, Any]:
    status = task.status(now)
    ended = status == "complete"
    successes, failures = (task.successes, task.failures) if ended else collected(task, now)
    return {
        "task_id": task.task_id,
        "action": task.action,
        "status": status,
        "result": task.outcome() if ended else "incomplete",
        "node_filter": task.node_filter,
        "successes": list(successes),
        "failures": list(failures),
        "created": stamp(task.created, offset="+00:00"),
        "started": stamp(task.started, offset="+00:00") if status != "queued" else None,
        "ended": stamp(task.ended, offset="+00:00") if ended else None,
    }
