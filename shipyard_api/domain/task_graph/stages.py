"""The stages of a task graph that belong to an action of their own."""

from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.tasks import Kind, TaskId

TEST_STAGE = TaskId("test")
"""Its tasks run in ``test_site`` only (product, section 7)."""


def tasks_of_stage(graph: TaskGraph, stage: TaskId) -> frozenset[TaskId]:
    """Return the tasks of a stage: tasks that name the stage in ``stage``, and the direct requirements of the stage."""
    named = {task.id for task in graph.tasks.values() if task.stage == stage}
    named |= graph.before.get(stage, frozenset())
    return frozenset(task for task in named if graph.tasks[task].kind not in (Kind.STAGE, Kind.GROUP))
