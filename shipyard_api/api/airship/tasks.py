"""The tasks of an action on nodes, and their output. Shipyard v1.0 has no such resource."""

from collections.abc import Mapping
from typing import ClassVar

import falcon

from shipyard_api.api.airship.action_nodes import MOST, name_of_node
from shipyard_api.api.airship.parameters import marker
from shipyard_api.api.entities.tasks import TaskOfNode, TaskResult, TaskTotals
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import boolean, single, whole_number, words
from shipyard_api.api.http.threads import threaded, threaded_peer
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.usecases.software.results import ReadTaskResults

MOST_BYTES = 60_000
"""Of output in one answer."""
MOST_ACTIONS = 20
_FARTHEST = 2**31 - 1
_LONGEST = 1000


class Tasks:
    """``/actions/{action_id}/tasks``: tasks on nodes, in order of node and task."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, results: ReadTaskResults) -> None:
        self._results = results

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with a page of tasks on nodes, and with how many nodes each task of the action has in each status."""
        limit = whole_number(req, "limit", 100, least=1, most=MOST)
        node, _, task = name_of_node(req, "marker").partition("/")
        page = self._results.page(
            action_id,
            node=_name(req, "node"),
            task=_name(req, "task"),
            status=[
                TaskStatus(word) for word in words(req, "status", [known_status.value for known_status in TaskStatus])
            ],
            after=(node, task),
            limit=limit,
            matrix=bool(boolean(req, "matrix", default=False)),
        )
        last = page.records[-1] if len(page.records) == limit else None
        resp.media = {
            "tasks": [TaskResult.of(record) for record in page.records],
            "totals": task_totals(page.counts),
            "next": f"{last.node}/{last.task}" if last else None,
        }
        if page.matrix is not None:
            resp.media["matrix"] = {
                "tasks": page.matrix.tasks,
                "nodes": list(page.matrix.letters),
                "letters": list(page.matrix.letters.values()),
            }


class NodeTasks:
    """``/nodes/{node_name}/tasks``: the tasks of a node over its actions."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_nodes"}

    def __init__(self, results: ReadTaskResults) -> None:
        self._results = results

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, node_name: str) -> None:
        """Answer with the tasks of the latest actions, newest action first, in pages of actions."""
        limit = whole_number(req, "limit", 5, least=1, most=MOST_ACTIONS)
        records = self._results.on_node(node_name, before=marker(req), limit=limit)
        full = len({record.action for record in records}) == limit
        resp.media = {
            "tasks": [TaskOfNode.of(record) for record in records],
            "next": records[-1].action if full else None,
        }


class TaskOutput:
    """``/actions/{action_id}/tasks/{task}/nodes/{node_name}/output``: the full output of a task on a node."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_task_output"}

    def __init__(self, results: ReadTaskResults) -> None:
        self._results = results

    @threaded_peer
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str, task: str, node_name: str) -> None:
        """Answer with a part of the output as the node has it now; the next part begins at ``next_offset``."""
        offset = whole_number(req, "offset", 0, least=0, most=_FARTHEST)
        limit = whole_number(req, "limit", MOST_BYTES, least=1, most=MOST_BYTES)
        record, output = self._results.output(action_id, task, node_name, offset=offset, limit=limit)
        resp.media = {
            "node": record.node,
            "task": record.task,
            "status": record.status.value,
            "text": output.text,
            "offset": output.offset,
            "next_offset": output.next_offset,
            "size": output.size,
            "kept": output.kept,
        }


def _name(req: falcon.Request, name: str) -> str | None:
    written = single(req, name)
    if written is not None and len(written) > _LONGEST:
        raise falcon.HTTPInvalidParam(f"The value is a name of at most {_LONGEST} characters.", name)
    return written


def task_totals(counts: Mapping[TaskId, Mapping[TaskStatus, int]]) -> list[TaskTotals]:
    """Return how many nodes each task has in each status."""
    return [
        TaskTotals(task, **{status.value: numbers.get(status, 0) for status in TaskStatus})
        for task, numbers in sorted(counts.items())
    ]
