"""How runs of the task graph, and their nodes, stand: read from the states that the stage keeps (contract, 4.5)."""

from collections.abc import Collection, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.steps.software.state import StageState
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.actions import ActionFilters, ActionRecord
from shipyard_api.storage.unit_of_work import Transaction

_MOST = 20
"""Runs in which the newest tasks of a node are looked for."""


class NodeRunStatus(Enum):
    """The state of the newest run of tasks on a node; the values are Fuel's words."""

    DEPLOYING = "deploying"
    READY = "ready"
    ERROR = "error"
    STOPPED = "stopped"


class NodeRun(Struct, frozen=True):
    """The newest tasks on a node. ``progress``: percent of them that succeeded. ``message``: why not all."""

    status: NodeRunStatus
    progress: int
    message: str = ""


def state_of_run(tx: Transaction, action: ActionId) -> StageState | None:
    """Return the state of the software stage of an action, None before it is planned."""
    for memory, text in tx.task_results.step_states(action):
        if text.startswith('{"flow":') and memory.get("v") == StageState.VERSION:
            return StageState.from_json({**memory, "fixed": text})
    return None


def progress_of(state: StageState) -> int:
    """Return how many percent of the tasks on nodes have succeeded."""
    flow = state.software.flow
    every = sum(flow.full[cell.number].bit_count() for cell in flow.cells)
    return 100 * sum(bits.bit_count() for bits in state.done.values()) // every if every else 0


def newest_runs(tx: Transaction, nodes: Collection[NodeName]) -> Mapping[NodeName, NodeRun]:
    """Return the newest run of each node whose tasks ran since it was deployed, as far as it is among the last ones."""
    runs: dict[NodeName, NodeRun] = {}
    left = set(nodes)
    # Tests leave a node's software as it is, and run beside anything.
    names = ACTIONS.names(lambda action: action.runs_tasks and action.exclusive)
    for action in tx.actions.matching(ActionFilters(names=names), descending=True, limit=_MOST):
        if not left:
            break
        state = state_of_run(tx, action.id)
        if state is None or state.software.noop:
            continue
        mine = left & state.software.flow.class_of.keys()
        again = tx.nodes.touched_since(action.created_at, mine) if mine else ()
        runs |= {node: run for node, run in _runs(action, state, mine) if node not in again}
        left -= mine
    return runs


def _runs(action: ActionRecord, state: StageState, nodes: Collection[NodeName]) -> Iterator[tuple[NodeName, NodeRun]]:
    flow, execution = state.software.flow, state.execution
    why = {**execution.unmet(), **state.failed}
    for node in nodes:
        number, bit = flow.class_of[node]
        cells = [index for index, cell in enumerate(flow.cells) if cell.number == number]
        done = sum(bool(state.done.get(index, 0) & bit) for index in cells)
        progress = 100 * done // len(cells) if cells else 100
        if node in why:
            yield node, NodeRun(NodeRunStatus.ERROR, progress, why[node])
        elif not action.ended_at:
            yield node, NodeRun(NodeRunStatus.DEPLOYING, progress)
        elif done < len(cells):
            yield node, NodeRun(NodeRunStatus.STOPPED, progress, state.stopped or "the run was stopped")
        else:
            yield node, NodeRun(NodeRunStatus.READY, 100)
