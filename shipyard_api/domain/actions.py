"""Actions and their steps: names, states, and the words for them on the wire."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NewType

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName

ActionId = NewType("ActionId", str)
"""A ULID: 26 letters and digits, in order of time."""

StepId = NewType("StepId", str)
"""Step name on the wire, ``group.step`` (contract: shipyard-actions, age B)."""

BARE_GROUPS = ("preflight", "drydock_build")
"""Ids that stand for a group of steps and have no step of their own; field scripts compare them (product, 5)."""


ActionName = NewType("ActionName", str)
"""The name of an action, as on the wire (contract: shipyard-actions, chapter 1); ``actions.catalog`` has all."""

NODE_OPERATION = ActionName("node_operation")
"""The name under which one operation of a teardown on one node is recorded, called at an address of its own."""

PULL_DESIGN = ActionName("pull_design")
"""The name under which is recorded what became of a commit that a site pulled."""


def is_listed(name: ActionName) -> bool:
    """Return whether operators create the action by its name: a node operation has calls of its own."""
    return name not in (NODE_OPERATION, PULL_DESIGN)


def nodes_of_run(software: Mapping[str, Any] | None) -> frozenset[NodeName] | None:
    """Return the nodes that a run of tasks names: it excludes only actions on them. None: an action excludes others.

    ``software``: what the run is limited to, None without one.
    """
    nodes = (software or {}).get("nodes")
    return None if nodes is None else frozenset(map(NodeName, nodes))


class RunState(Enum):
    """State of an action; the values are ``dag_status`` on the wire (contract: shipyard-rest, 6.1)."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    SUCCESS = "success"
    FAILED = "failed"


ENDED = frozenset({RunState.SUCCESS, RunState.FAILED})

_LIFECYCLES = {
    RunState.QUEUED: "Pending",
    RunState.RUNNING: "Processing",
    RunState.PAUSED: "Paused",
    RunState.SUCCESS: "Complete",
    RunState.FAILED: "Failed",
}


def lifecycle(state: RunState) -> str:
    """Return the lifecycle word that polling scripts wait for (contract: shipyard-rest, 6.2)."""
    return _LIFECYCLES[state]


class Control(Enum):
    """Command of an operator on an existing action; the values are the words on the wire."""

    PAUSE = "pause"
    UNPAUSE = "unpause"
    STOP = "stop"
    RETRY = "retry"
    ACKNOWLEDGE = "acknowledge"


CONTROLLABLE: dict[Control, tuple[RunState, ...]] = {
    Control.PAUSE: (RunState.RUNNING,),
    Control.UNPAUSE: (RunState.PAUSED,),
    Control.STOP: (RunState.RUNNING, RunState.PAUSED),
    Control.RETRY: (RunState.FAILED,),
    Control.ACKNOWLEDGE: (RunState.FAILED,),
}
"""The states in which an action takes each control, the usual one first (contract: shipyard-rest, 6.7)."""


class ActionState(Struct, frozen=True):
    """The state of an action as controls see it. ``stopped``: a stop was accepted; it cannot be undone.

    ``tolerated``: it has nodes that did not succeed, so that a success can be retried for them alone, or acknowledged.
    """

    state: RunState
    stopped: bool = False
    tolerated: bool = False

    def refusal(self, control: Control) -> tuple[str, str] | None:
        """Return the state that the control needs and the state of the action, None if the action can take it."""
        allowed = CONTROLLABLE[control]
        if RunState.FAILED in allowed and self.state is RunState.SUCCESS and self.tolerated:
            return None
        if self.state not in allowed:
            return allowed[0].value, self.state.value
        # It shows as running until the current turn has ended.
        if self.stopped and RunState.RUNNING in allowed:
            return allowed[0].value, "being stopped"
        return None


class StepState(Enum):
    """State of a step; a step that has not started has none (null on the wire; contract: shipyard-rest, 7.3)."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    UPSTREAM_FAILED = "upstream_failed"
    SKIPPED = "skipped"


def group_state(members: Iterable[StepState | None]) -> StepState | None:
    """Return the state of a bare group id, such as ``drydock_build``, from the states of its steps.

    Field scripts compare the bare ids, although no step runs under them (product, section 5).
    """
    states = list(members)
    for decisive in (StepState.FAILED, StepState.RUNNING, StepState.UPSTREAM_FAILED):
        if decisive in states:
            return decisive
    if all(state is None for state in states):
        return None
    if all(state is StepState.SKIPPED for state in states):
        return StepState.SKIPPED
    return StepState.RUNNING if None in states else StepState.SUCCESS
