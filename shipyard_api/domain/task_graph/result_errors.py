"""Why the results and outputs of tasks on nodes cannot be shown."""

from dataclasses import dataclass

from shipyard_api.domain.errors import NotFound, Precondition


@dataclass(eq=False)
class TaskResultNotFound(NotFound):
    """The task has not begun on this node in this action."""

    action: str
    task: str
    node: str


@dataclass(eq=False)
class OutputNotKept(NotFound):
    """The node does not keep the output of the task any more."""

    action: str
    task: str
    node: str


@dataclass(eq=False)
class NodesOutOfReach(Precondition):
    """No SSH is configured, so no node can be asked."""
