"""``/tasks``: create, read and purge tasks."""

from typing import Any
from uuid import UUID

import falcon

from shipyard_simulators.drydock.orchestrator import Orchestrator
from shipyard_simulators.drydock.site import Site
from shipyard_simulators.drydock.task_views import API, error_views, levels, record_views, task_view
from shipyard_simulators.drydock.tasks import ACTIONS, Task
from shipyard_simulators.drydock.wire import json_object, send_error

_DESIGN_REF_LIMIT = 128  # the width of a column


class Tasks:
    """All tasks."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return all tasks ever run, subtasks and health checks included, unordered and without pages."""

        def read(tasks: dict[str, Task], _site: Site, now: float) -> list[dict[str, Any]]:
            return [task_view(task, now) for task in tasks.values() if task.parent is None or task.started <= now]

        resp.media = self._orchestrator.look(read)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Queue a task. Only the action is validated; any other mistake ends in a 500."""
        body = json_object(req, refuse_with=500)
        action, design_ref = body.get("action"), body.get("design_ref")
        if action not in ACTIONS:
            send_error(resp, 400, f"Unsupported action {action}")
            return
        if not isinstance(design_ref, str) or len(design_ref) > _DESIGN_REF_LIMIT:
            send_error(resp, 500, "Unknown error")
            return
        resp.media = view = self._orchestrator.create(
            action,
            design_ref,
            body.get("node_filter"),
            render=lambda task, now: task_view(task, now, offset="+00:00"),
        )
        resp.status = falcon.HTTP_201
        resp.location = f"{API}/tasks/{view['task_id']}"

    def on_delete(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Purge old tasks."""
        try:
            days = req.get_param_as_int("days", min_value=0, default=90)
        except falcon.HTTPBadRequest:
            send_error(resp, 500, "Unknown error")
            return
        self._orchestrator.purge(days)
        resp.content_type = falcon.MEDIA_TEXT
        resp.text = "Tables purged successfully."


class OneTask:
    """One task, or its tree."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, req: falcon.Request, resp: falcon.Response, task_id: str) -> None:
        """Return the task, with the parts that the query asks for."""
        try:
            with_records = req.get_param_as_bool("builddata", default=False)
            with_errors = req.get_param_as_bool("subtaskerrors", default=False)
        except falcon.HTTPBadRequest:
            send_error(resp, 500, "Unknown error")
            return
        depth = _depth(req.get_param("layers"))

        def view(task: Task, now: float) -> dict[str, Any]:
            return task_view(task, now) | ({"build_data": record_views(task, now)} if with_records else {})

        def read(tasks: dict[str, Task], _site: Site, now: float) -> dict[str, Any] | None:
            task = _existing(tasks, task_id, now)
            if task is None:
                return None
            root = view(task, now) | ({"subtask_errors": error_views(task, now)} if with_errors else {})
            if not depth:
                return root
            below = {each.task_id: view(each, now) for each in levels(task, depth, now)[1:]}
            return {"init_task_id": task.task_id, task.task_id: root} | below

        found = self._orchestrator.look(read)
        if found is None:
            send_error(resp, 404, f"Task {task_id} not found")
        else:
            resp.media = found


class TaskBuildData:
    """The data that one task collected."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def on_get(self, _req: falcon.Request, resp: falcon.Response, task_id: str) -> None:
        """Return the records of this task only."""
        try:
            UUID(task_id)
        except ValueError:
            resp.status = falcon.HTTP_500
            resp.content_type = falcon.MEDIA_TEXT
            resp.text = "Unexpected error."
            return

        def read(tasks: dict[str, Task], _site: Site, now: float) -> list[dict[str, Any]]:
            task = _existing(tasks, task_id, now)
            return record_views(task, now) if task else []

        records = self._orchestrator.look(read)
        if records:
            resp.media = records
        else:
            resp.status = falcon.HTTP_404


def _existing(tasks: dict[str, Task], task_id: str, now: float) -> Task | None:
    task = tasks.get(task_id)
    return task if task is not None and (task.parent is None or task.started <= now) else None


def _depth(layers: str | None) -> int:
    """Return the number of levels that the query asks for; 0 where Drydock returns no map."""
    try:
        depth = int(layers or 0)
    except ValueError:
        return 0
    return depth if depth > 0 or depth == -1 else 0
