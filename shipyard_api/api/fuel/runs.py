"""Running tasks on nodes, and these runs as Fuel's transactions (contract: fuel-task-graph, 5.2 and 12)."""

import re
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel import reading
from shipyard_api.api.http.authentication import Policy, may, require
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.reading import boolean, is_empty, read_body
from shipyard_api.api.http.request_context import note_created
from shipyard_api.api.http.threads import answer_in_thread, threaded
from shipyard_api.domain.actions import RunState
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.policy import PREFIX, WITHOUT_APPROVAL
from shipyard_api.domain.task_graph.errors import RunNotFound
from shipyard_api.domain.task_graph.layers import SITE, OwnerKind
from shipyard_api.usecases.actions.agreed_plan import Agreement
from shipyard_api.usecases.software.runs import Run, RunTasks, TaskOfRun

_RULE = f"{PREFIX}action_update_software"
_STATUSES = {
    RunState.QUEUED: "pending",
    RunState.RUNNING: "running",
    RunState.PAUSED: "running",
    RunState.SUCCESS: "ready",
    RunState.FAILED: "error",
}
_OF_TASK = {
    TaskStatus.RUNNING: "running",
    TaskStatus.LEFT: "running",
    TaskStatus.SUCCESS: "ready",
    TaskStatus.FAILED: "error",
}
_LONGEST = 9


class Deploy:
    """Runs tasks of a cluster on some of its nodes. ``chosen``: the body names the tasks; else all run."""

    policy: ClassVar[Policy] = {"PUT": f"{PREFIX}create_action"}

    def __init__(self, runs: RunTasks, limit: int, *, chosen: bool) -> None:
        """``limit``: the largest body, in bytes."""
        self._runs = runs
        self._limit = limit
        self._chosen = chosen

    async def on_put(self, req: falcon.asgi.Request, resp: falcon.Response, owner_id: str) -> None:
        """Run tasks on the nodes of the parameter `nodes`, by default on all nodes of the cluster."""
        require(req, _RULE)
        cluster = reading.owner(OwnerKind.CLUSTER, owner_id)
        noop = bool(boolean(req, "noop_run", default=False))
        if boolean(req, "dry_run", default=False):
            raise Fault(
                "'dry_run' is not supported: see what would run with `shipyard software plan`, or use noop_run."
            )
        if is_empty(req, "nodes"):
            raise Fault("'nodes' names no node. Leave it out to run on all nodes.")
        sent = await read_body(req, self._limit)

        def run() -> None:
            tasks = None
            if self._chosen:
                written = reading.value(req, sent) if sent.strip() else []
                if not written:
                    raise Fault("Tasks list must be specified.")
                tasks = reading.names(written, "Tasks")
            nodes = reading.separated(req, "nodes")
            started = self._runs.start(
                cluster.id,
                nodes=nodes,
                tasks=tasks,
                caller=req.context.caller,
                noop=noop,
                agreement=Agreement(needs_approval=not may(req, WITHOUT_APPROVAL)),
            )
            note_created(req, started.action.id)
            resp.status = falcon.HTTP_202
            resp.media = _transaction(started)

        await answer_in_thread(resp, run)


class Transactions:
    """All runs."""

    policy: ClassVar[Policy] = {"GET": f"{PREFIX}list_actions"}

    def __init__(self, runs: RunTasks) -> None:
        self._runs = runs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all runs of tasks."""
        resp.media = [_transaction(run) for run in self._runs.all()]


class Transaction:
    """One run."""

    policy: ClassVar[Policy] = {"GET": f"{PREFIX}get_action"}

    def __init__(self, runs: RunTasks) -> None:
        self._runs = runs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, number: str) -> None:
        """Answer with the run of this number; its `uuid` is the id of the action."""
        resp.media = _transaction(self._runs.one(_number(number)))


class History:
    """The tasks of one run on nodes; those that its plan leaves out are not listed."""

    policy: ClassVar[Policy] = {"GET": f"{PREFIX}get_action"}

    def __init__(self, runs: RunTasks) -> None:
        self._runs = runs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, number: str) -> None:
        """Answer with each task on each node; `nodes`, `statuses` and `tasks_names` choose some."""
        nodes, statuses, tasks = (reading.separated(req, name) for name in ("nodes", "statuses", "tasks_names"))
        rows = [_history(entry) for entry in self._runs.history(_number(number))]
        wanted = (("node_id", nodes), ("status", statuses), ("task_name", tasks))
        resp.media = [row for row in rows if all(not chosen or row[name] in chosen for name, chosen in wanted)]


def _number(written: str) -> int:
    if not re.fullmatch(rf"[0-9]{{1,{_LONGEST}}}", written, re.ASCII):
        raise RunNotFound()
    return int(written)


def _history(entry: TaskOfRun) -> dict[str, Any]:
    record = entry.record
    never = "skipped" if entry.ended else "pending"
    return {
        "task_name": entry.task,
        "node_id": str(entry.node),
        "status": _OF_TASK[record.status] if record else never,
        "time_start": record.began_at.isoformat() if record else None,
        "time_end": record.ended_at.isoformat() if record and record.ended_at else None,
        "message": record.detail if record else entry.why,
        "custom": {"output": record.tail} if record and record.status is TaskStatus.FAILED else {},
    }


def _transaction(run: Run) -> dict[str, Any]:
    action = run.action
    return {
        "id": run.number,
        "uuid": action.id,
        "name": "deployment",
        "status": _STATUSES[action.state],
        "progress": run.progress,
        "cluster": SITE,
        "message": run.message,
        "result": {},
        "graph_type": "default",
        "dry_run": False,
        "noop_run": action.parameters.get("noop") is True,
        "time_start": action.started_at.isoformat() if action.started_at else None,
        "time_end": action.ended_at.isoformat() if action.ended_at else None,
    }
