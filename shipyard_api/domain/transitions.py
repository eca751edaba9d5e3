"""Which state can follow which, of actions, steps, work items, groups and nodes, and what causes each transition.

``docs/reference/states.md`` draws these tables, and the crash suite refuses every transition that they lack.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from shipyard_api.domain.actions import RunState, StepState
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.items import ItemState
from shipyard_api.domain.nodes import NodeStatus

S = TypeVar("S", bound=Enum)
Transitions = Mapping[tuple[S | None, S], str]
"""From state, to state: the cause. None: the step has not begun."""

ACTION: Transitions[RunState] = {
    (RunState.QUEUED, RunState.RUNNING): "a worker claims the action",
    (RunState.RUNNING, RunState.PAUSED): "pause",
    (RunState.PAUSED, RunState.RUNNING): "unpause",
    (RunState.RUNNING, RunState.SUCCESS): "all steps have ended, none failed",
    (RunState.RUNNING, RunState.FAILED): "all steps have ended after a failure or a stop",
    (RunState.PAUSED, RunState.SUCCESS): "paused when no step was left to run",
    (RunState.PAUSED, RunState.FAILED): "paused when no step was left to run, after a failure",
}

STEP: Transitions[StepState] = {
    (None, StepState.RUNNING): "the steps before it have ended",
    (StepState.RUNNING, StepState.SUCCESS): "the work succeeded",
    (StepState.RUNNING, StepState.FAILED): "the work failed, or the action was stopped",
    (None, StepState.FAILED): "the action was stopped before the step began",
    (None, StepState.UPSTREAM_FAILED): "a step before it failed",
    (None, StepState.SKIPPED): "continue-on-fail, and the provisioner is unhealthy",
}

ITEM: Transitions[ItemState] = {
    (ItemState.QUEUED, ItemState.RUNNING): "a worker claims the item",
    (ItemState.RUNNING, ItemState.SUCCESS): "the work succeeded",
    (ItemState.RUNNING, ItemState.FAILED): "the work failed",
    (ItemState.RUNNING, ItemState.STOPPED): "the action was stopped, or the step no longer needs the item",
}

GROUP: Transitions[GroupStatus] = {
    (GroupStatus.NOT_STARTED, GroupStatus.PREPARING): "all groups it depends on succeeded",
    (GroupStatus.NOT_STARTED, GroupStatus.FAILED): "a group it depends on failed",
    (GroupStatus.PREPARING, GroupStatus.DEPLOYING): "the prepare criteria hold",
    (GroupStatus.PREPARING, GroupStatus.FAILED): "criteria missed, timeout or stop",
    (GroupStatus.DEPLOYING, GroupStatus.SUCCESS): "the deploy criteria hold",
    (GroupStatus.DEPLOYING, GroupStatus.FAILED): "criteria missed, timeout or stop",
}

NODE: Transitions[NodeStatus] = {
    (NodeStatus.NOT_STARTED, NodeStatus.PREPARED): "prepare succeeded",
    (NodeStatus.NOT_STARTED, NodeStatus.FAILURE): "prepare failed, timed out or was stopped",
    (NodeStatus.NOT_STARTED, NodeStatus.SUCCESS): "a retry keeps a deployed node",
    (NodeStatus.PREPARED, NodeStatus.SUCCESS): "deploy succeeded, and the node joined its cluster if required",
    (NodeStatus.PREPARED, NodeStatus.FAILURE): "deploy failed, timed out or was stopped",
}
