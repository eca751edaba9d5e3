"""``/nodes``, ``/health`` and ``/versions``."""

from typing import Any

import falcon

from shipyard_simulators.drydock.orchestrator import Orchestrator
from shipyard_simulators.drydock.site import Site
from shipyard_simulators.drydock.task_views import record_views
from shipyard_simulators.drydock.tasks import Task
from shipyard_simulators.drydock.wire import health_status, send_error


class Nodes:
    """The machines that MAAS knows."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return every machine with its status."""
        resp.media = self._orchestrator.look(lambda _tasks, site, now: site.machines(now))


class NodeBuildData:
    """The data that tasks collected from one node."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, req: falcon.Request, resp: falcon.Response, hostname: str) -> None:
        """Return all records, or the newest of each generator."""
        try:
            latest = req.get_param_as_bool("latest", default=False)
        except falcon.HTTPBadRequest:
            send_error(resp, 500, "Unknown error")
            return

        def read(tasks: dict[str, Task], _site: Site, now: float) -> list[dict[str, Any]]:
            views = [
                view
                for task in tasks.values()
                if task.records
                for view in record_views(task, now)
                if view["node_name"] == hostname
            ]
            return sorted(views, key=lambda view: str(view["collected_date"]))

        records = self._orchestrator.look(read)
        if latest:
            records = list({view["generator"]: view for view in records}.values())
        if records:
            resp.media = records
        else:
            send_error(resp, 404, "No build data found")


class Health:
    """The health of the service. It says nothing about MAAS."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return 204; the check leaves a task behind."""
        self._orchestrator.probe()
        resp.status = falcon.HTTP_204

    def on_get_extended(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return a Status object; this check leaves a task behind, too."""
        self._orchestrator.probe()
        resp.media = health_status()


class Versions:
    """The versions of the API."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the only one."""
        resp.media = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}
