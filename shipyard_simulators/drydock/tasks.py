"""Tasks with their planned future. A started task already holds its end, and shows only what has happened.

There is no timer: a view is computed from the plan and the moment of the request.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any

ACTIONS = (
    "validate_design",
    "verify_site",
    "prepare_site",
    "verify_nodes",
    "prepare_nodes",
    "deploy_nodes",
    "destroy_nodes",
    "relabel_nodes",
)
"""The actions that clients can request; subtasks have further ones."""


def new_id() -> str:
    """Return the id of a new task."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a task."""

    moment: float
    text: str
    error: bool
    context_type: str
    context: str


@dataclass(frozen=True, slots=True)
class Record:
    """Data that a task collected from a node."""

    moment: float
    node: str
    generator: str
    data_format: str
    element: str


@dataclass(eq=False, slots=True)
class Task:
    """A requested task or a subtask.

    ``ended`` is infinite while no end is planned. ``failed`` and ``partial`` apply to tasks without nodes.
    ``children``: the linked subtasks, in order of start.
    """

    action: str
    created: float
    design_ref: str | None = None
    node_filter: Any = None
    parent: "Task | None" = None
    created_by: str | None = None
    retry: int = 0
    started: float = inf
    ended: float = inf
    successes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    failed: bool = False
    partial: bool = False
    messages: list[Message] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    children: list["Task"] = field(default_factory=list)
    task_id: str = field(default_factory=new_id)

    def started_children(self, moment: float) -> list["Task"]:
        """Return the linked subtasks that exist at this moment."""
        return [child for child in self.children if child.started <= moment]

    def below(self) -> Iterator["Task"]:
        """Yield every subtask of the tree, past and future."""
        for child in self.children:
            yield child
            yield from child.below()

    def status(self, moment: float) -> str:
        """Return Drydock's status word at this moment."""
        if moment < self.started:
            return "queued"
        return "running" if moment < self.ended else "complete"

    def outcome(self) -> str:
        """Return Drydock's word for the result that the task will have."""
        if self.partial or (self.failures and self.successes):
            return "partial_success"
        return "failure" if self.failures or self.failed else "success"
