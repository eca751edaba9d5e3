"""Tasks as JSON at a given moment: later events are not shown."""

import json
from math import isfinite
from typing import Any

from shipyard_simulators.clock import stamp
from shipyard_simulators.drydock.tasks import Message, Record, Task

API = "/api/v1.0"
_NAME_LIMIT = 32  # the width of a database column: longer names are cut
_MESSAGE_LIMIT = 128


def task_view(task: Task, moment: float, *, offset: str = "") -> dict[str, Any]:
    """Return the task object; ``offset`` is what Drydock appends to times only in the answer to POST."""
    changes = [task.created, *(each for each in (task.started, task.ended) if isfinite(each) and each <= moment)]
    return {
        "kind": "Task",
        "apiVersion": "v1",
        "task_id": task.task_id,
        "action": task.action,
        "parent_task_id": task.parent.task_id if task.parent else None,
        "design_ref": task.design_ref,
        "status": task.status(moment),
        "result": result_view(task, moment),
        "node_filter": task.node_filter,
        "subtask_id_list": [child.task_id for child in task.started_children(moment)],
        "created": stamp(task.created, offset=offset),
        "created_by": task.created_by,
        "updated": stamp(max(changes), offset=offset),
        "terminated": None,
        "terminated_by": None,
        "terminate": False,
        "retry": task.retry,
    }


def result_view(task: Task, moment: float) -> dict[str, Any]:
    """Return the result object of a task."""
    ended = task.status(moment) == "complete"
    messages = [message for message in _story(task, moment) if message.moment <= moment]
    successes, failures = (task.successes, task.failures) if ended else collected(task, moment)
    linked = ended and task.records
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "message": None,
        "reason": None,
        "status": task.outcome() if ended else "incomplete",
        "successes": [name[:_NAME_LIMIT] for name in successes],
        "failures": [name[:_NAME_LIMIT] for name in failures],
        "links": [{"rel": "detail_logs", "href": f"{API}/tasks/{task.task_id}/builddata"}] if linked else [],
        "details": {
            "errorCount": sum(message.error for message in messages),
            "messageList": [_message_view(message) for message in messages],
        },
    }


def collected(task: Task, moment: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the nodes that a running task already counts.

    Only a preparation of several nodes has any: there, each node is a task of its own. In other tasks, a node that has
    passed one step still has others ahead.
    """
    ended = [
        child for child in task.children if child.action == task.action == "prepare_nodes" and child.ended <= moment
    ]
    return (
        tuple(name for child in ended for name in child.successes),
        tuple(name for child in ended for name in child.failures),
    )


def error_views(task: Task, moment: float) -> dict[str, dict[str, Any]]:
    """Return the results of all subtasks with an error, by id."""
    views = {}
    for below in task.below():
        if below.started <= moment:
            view = result_view(below, moment)
            if view["details"]["errorCount"]:
                views[below.task_id] = {**view, "task_id": below.task_id}
    return views


def levels(task: Task, depth: int, moment: float) -> list[Task]:
    """Return the task and its subtasks down to this depth; -1 returns all of them."""
    found, level = [task], [task]
    while level and depth != 1:
        level = [child for each in level for child in each.started_children(moment)]
        found += level
        depth -= 1
    return found


def record_views(task: Task, moment: float) -> list[dict[str, Any]]:
    """Return what this task has collected up to this moment."""
    return [_record_view(task, record) for record in task.records if record.moment <= moment]


def _record_view(task: Task, record: Record) -> dict[str, Any]:
    return {
        "node_name": record.node,
        "task_id": task.task_id,
        "collected_date": stamp(record.moment, offset="+00:00"),
        "generator": record.generator,
        "data_format": record.data_format,
        "data_element": record.element,
    }


def _message_view(message: Message) -> dict[str, Any]:
    text = message.text
    return {
        "message": text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1],
        "error": message.error,
        "context_type": message.context_type,
        "context": message.context,
        "ts": stamp(message.moment),
        "extra": json.dumps({}),
    }


def _story(task: Task, moment: float) -> list[Message]:
    """Return the task's messages; a requested task also reports its start and the collection of its subtasks."""
    story = list(task.messages)
    if task.parent is None:
        for child in task.started_children(moment):
            story.append(Message(child.started, f"Started subtask {child.action}", False, "task", child.task_id))
            if child.ended <= moment:
                story.append(Message(child.ended, f"Collected subtask {child.action}", False, "task", child.task_id))
    return sorted(story, key=lambda message: message.moment)
