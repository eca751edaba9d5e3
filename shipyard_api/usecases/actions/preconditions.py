"""Preconditions: of a new action, that nothing else is on its nodes; of a change to an action, that it runs."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ENDED, ActionId, ActionName
from shipyard_api.domain.errors import (
    ActionNotFound,
    ActionOver,
    HoldsNotOverridden,
    NodeOperationRunning,
    NodesHeld,
    WorkUnderWay,
)
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.holds import OVERRIDDEN, Hold
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.ports.state.stragglers import Straggler
from shipyard_api.storage.unit_of_work import Transaction


def refuse_stragglers(
    stragglers: Sequence[Straggler],
    nodes: Collection[NodeName] | None,
    *,
    except_nodes: Collection[NodeName] = frozenset(),
) -> None:
    """Raise WorkUnderWay if a straggler holds one of these nodes (None: any node), or the whole site."""
    for straggler in stragglers:
        work = straggler.work.nodes
        held = None if work is None else [name for name in work if nodes is None or name in nodes]
        held = None if held is None else [name for name in held if name not in except_nodes]
        if held == []:
            continue
        operation = straggler.work.operation.value
        raise WorkUnderWay(operation, held, straggler.job, straggler.action, straggler.why)


def refuse_operations(running: Sequence[ActionRecord], name: ActionName, nodes: Collection[NodeName] | None) -> None:
    """Raise NodeOperationRunning if one is at work on a node that the action would touch (None: any node may be).

    What may take etcd members out excludes the teardown of any server.
    """
    for action in running:
        node, operation = NodeName(action.parameters["node"]), NodeOperation(action.parameters["operation"])
        on_etcd = operation.takes_members and ACTIONS[name].tears_down
        if on_etcd or nodes is None or node in nodes:
            raise NodeOperationRunning(action.id, operation.value, node)


def refuse_held(holds: Sequence[Hold], *, force: bool, may_override: bool) -> Sequence[Hold]:
    """Return the holds that the request overrides. Raises NodesHeld, and HoldsNotOverridden if it may not do so."""
    if holds and not force:
        raise NodesHeld(holds)
    if holds and not may_override:
        raise HoldsNotOverridden(holds)
    return holds


def override(action: NewAction, holds: Sequence[Hold]) -> NewAction:
    """Return the action with the holds that it overrides in its inputs and, as notes, in its journal."""
    if not holds:
        return action
    notes = [Noted("Hold Overridden", f"node {hold.node} is {hold}") for hold in holds]
    inputs = {**action.inputs, OVERRIDDEN: [hold.id for hold in holds]}
    return replace(action, inputs=inputs, facts=(*action.facts, *notes))


def lock_running(tx: Transaction, action: ActionId) -> ActionRecord:
    """Return an action, locked until the transaction ends. Raises ActionNotFound, and ActionOver if it has ended."""
    tx.actions.lock(action)
    record = tx.actions.get(action)
    if record is None:
        raise ActionNotFound(action)
    if record.state in ENDED:
        raise ActionOver(action)
    return record
