"""What must not be at work beside an action on its nodes: checked in the transaction that stores the action.

A plan runs the same list, so that it is refused by what refuses the action. Retries and single operations ask the
same functions with nodes of their own.
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from shipyard_api.actions.action import Action, Case, Desk
from shipyard_api.domain.actions import nodes_of_run
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import (
    HoldsNotOverridden,
    NodeOperationRunning,
    NodesHeld,
    SiteActionRunning,
    WorkUnderWay,
)
from shipyard_api.domain.holds import Hold, NodeWork
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.nodes import Straggler
from shipyard_api.storage.unit_of_work import Transaction


def beside(case: Case, desk: Desk, tx: Transaction) -> Case:
    """Return the case with the holds that it overrides, or refused by what is at work on its nodes."""
    try:
        for check in (_no_operation, _no_straggler):
            check(case, desk, tx)
        force, may_override = case.parameters.force, case.may_override_holds
        case = replace(case, held=refuse_held(holds(case, desk, tx), force=force, may_override=may_override))
        _alone(case, tx)
    except Conflict as conflict:
        return case.refused(conflict)
    return case


def holds(case: Case, desk: Desk, tx: Transaction) -> Sequence[Hold]:
    """Return the active holds that forbid what the action would do to its nodes."""
    active = forbidding(tx.holds.active(), case.action, case.inputs.site)
    nodes = _nodes_of(case, desk) if active else ()
    return [hold for hold in active if hold.node in nodes]


def forbidding(active: Sequence[Hold], action: Action, site: SiteInputs | None) -> Sequence[Hold]:
    """Return those of the holds that forbid what the action does: it takes down the servers that it interrupts."""
    interrupted, taken_down = site.ways.interrupted if site else (), {*action.work, NodeWork.TEARDOWN}
    return [hold for hold in active if hold.forbids(taken_down if hold.node in interrupted else action.work)]


def _no_operation(case: Case, desk: Desk, tx: Transaction) -> None:
    if case.action.exclusive and (running := tx.actions.node_operations()):
        refuse_operations(running, case.action, _nodes_of(case, desk))


def _no_straggler(case: Case, desk: Desk, tx: Transaction) -> None:
    if case.parameters.force or case.inputs.site is None:
        return
    if (case.action.on_site or case.site.targets) and (stragglers := tx.stragglers.open()):
        refuse_stragglers(stragglers, _nodes(case, desk))


def _alone(case: Case, tx: Transaction) -> None:
    named = nodes_of_run(case.parameters.software)
    if case.action.exclusive and (running := tx.actions.running_site_action(named)):
        raise SiteActionRunning(*running)


def _nodes_of(case: Case, desk: Desk) -> Collection[NodeName]:
    """Return the nodes that must be free for the action.

    A run of the task graph that names no nodes goes on without those that are held: their tasks fail.
    """
    touched = _nodes(case, desk) if case.inputs.site and case.action.on_site else case.parameters.targets
    return touched or case.parameters.named


def _nodes(case: Case, desk: Desk) -> frozenset[NodeName]:
    return case.site.nodes(desk.inventory(Revision(case.site.revision)))


def refuse_stragglers(stragglers: Sequence[Straggler], nodes: Collection[NodeName] | None) -> None:
    """Raise WorkUnderWay if a straggler holds one of these nodes (None: any node), or the whole site."""
    for straggler in stragglers:
        work = straggler.work.nodes
        held = None if work is None else [name for name in work if nodes is None or name in nodes]
        if held == []:
            continue
        operation = straggler.work.operation.value
        raise WorkUnderWay(operation, held, straggler.job, straggler.action, straggler.why)


def refuse_operations(running: Sequence[ActionRecord], kind: Action, nodes: Collection[NodeName] | None) -> None:
    """Raise NodeOperationRunning if one is at work on a node that the action would touch (None: any node may be).

    What may take etcd members out excludes the teardown of any server.
    """
    for action in running:
        node, operation = NodeName(action.parameters["node"]), NodeOperation(action.parameters["operation"])
        if kind.excludes(operation) or nodes is None or node in nodes:
            raise NodeOperationRunning(action.id, operation.value, node)


def refuse_held(holds: Sequence[Hold], *, force: bool, may_override: bool) -> Sequence[Hold]:
    """Return the holds that the request overrides. Raises NodesHeld, and HoldsNotOverridden if it may not do so."""
    if holds and not force:
        raise NodesHeld(holds)
    if holds and not may_override:
        raise HoldsNotOverridden(holds)
    return holds
