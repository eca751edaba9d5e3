"""Operations on one node for callers who wait: each is an action of its own (seed 004; contract: promenade, 3).

The action does the work, whatever becomes of its caller. The same call attaches to it while it runs.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from shipyard_api.actions.admission import binding
from shipyard_api.actions.beside import refuse_stragglers
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.node_operation import NODE_OPERATION
from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import Conflict, Forbidden
from shipyard_api.domain.facts.teardown import EtcdMemberRemoved, LabelsCleared, PodsEvicted, TeardownChanged
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.node_operations import (
    FAILURES,
    WITH_DESIGN,
    NodeOperation,
    OperationEnded,
    Reason,
    ended,
    read_limits,
    refused,
)
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.teardown.design_references import NotOurDesign, parse_reference
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.limits import ON_BLOCKED, TeardownLimits
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.documents import DesignStore, UnknownRevision
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.workflow.definition import Definition

# What Kubernetes takes as the name of a node (RFC 1123); nothing else is looked up there.
_NODE_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_KINDS = (TeardownChanged.kind, PodsEvicted.kind, LabelsCleared.kind, EtcdMemberRemoved.kind)


class OperationRefused(Exception):
    """The call was refused; nothing was begun."""

    def __init__(self, end: OperationEnded) -> None:
        super().__init__(end.text)
        self.end = end


class Call(Struct, frozen=True):
    """A call as it arrived. ``query``: every value of every parameter. ``body``: None without one."""

    operation: NodeOperation
    node: str
    query: Mapping[str, Sequence[str]]
    body: JsonObject | None = None


class _Checked(Struct, frozen=True):
    """``parameters``: what makes two calls the same. ``policy``: the windows that bind the call, None without."""

    node: NodeName
    parameters: dict[str, Any]
    revision: Revision | None
    limits: TeardownLimits
    policy: PolicyInputs | None = None


class OperateNodes(Struct, frozen=True, kw_only=True):
    """The use case. ``nodes`` is None where another service, or nothing, does the teardowns.

    ``direct``: False where Promenade does the teardowns, which can neither uncordon nor pass a budget.
    ``design_template``: the address from which provisioners fetch designs, with ``{revision}``.
    """

    store: Store
    designs: DesignStore
    rules: DesignRules
    nodes: ClusterNodes | None
    check_etcd: CheckEtcd
    definition: Definition
    new_id: Callable[[], str]
    design_template: str
    direct: bool = True

    def begin(self, call: Call, caller: Caller, *, may_delete: bool = False) -> ActionId:
        """Return the action that does the work: a new one, or the one that the same call has begun.

        Raises OperationRefused and Forbidden (``may_delete``: whether a drain may delete pods that a budget keeps), and
        then nothing was begun; ports.errors if Kubernetes does not answer.
        """
        checked = self._check(call)
        if checked.parameters.get(ON_BLOCKED) == OnBlocked.DELETE.value and not may_delete:
            raise Forbidden
        operation = call.operation
        with self.store.begin() as tx:
            if action := _attached(tx, operation, checked):
                return action
        if not self.rules.drains:
            message = "No Kubernetes is configured ([kubernetes] kubeconfig or url), so nothing can be done there."
            raise OperationRefused(refused(Reason.CONFLICT, message))
        if not self.direct and operation is NodeOperation.UNCORDON:
            message = f"Promenade cordons nodes here, and it cannot uncordon them. Use kubectl uncordon {checked.node}."
            raise OperationRefused(refused(Reason.CONFLICT, message))
        if not self.direct and ON_BLOCKED in checked.parameters:
            message = f"Promenade drains nodes here, and it does not know {ON_BLOCKED}: it waits for budgets."
            raise OperationRefused(refused(Reason.CONFLICT, message))
        if self.nodes is not None and self.nodes.node(checked.node) is None:
            raise OperationRefused(_unknown(checked.node))
        named = checked.revision if operation in WITH_DESIGN else None
        if named is not None and (forbidden := self.check_etcd.of_node(named, checked.node)):
            raise OperationRefused(refused(FAILURES[operation], *forbidden))
        windows = checked.policy.of_servers if checked.policy else None
        if windows and (reason := windows.blocked(self.rules.now())):
            raise OperationRefused(_conflict(f"{operation.value} waits for no maintenance window: {reason.why}"))
        with self.store.begin() as tx:
            tx.actions.lock_creation()
            if action := _attached(tx, operation, checked):
                return action
            _refuse_others(tx, operation, checked)
            return tx.actions.create(self._new(operation, checked, caller)).id

    def ended(self, actions: Collection[ActionId]) -> Collection[ActionId]:
        """Return those of the actions that have ended."""
        return self.store.read(lambda tx: tx.actions.ended(actions))

    def result(self, action: ActionId) -> OperationEnded:
        """Return how an action has ended."""

        def read(tx: Transaction) -> tuple[ActionRecord | None, str, list[Any]]:
            details = [step.detail for step in tx.actions.steps([action])[action] if step.detail]
            entries = tx.journal.entries(action, _KINDS)
            return tx.actions.get(action), "; ".join(details), [entry.fact for entry in entries]

        record, detail, facts = self.store.read(read)
        if record is None:
            raise ValueError(f"there is no action {action}")
        operation, node = NodeOperation(record.parameters["operation"]), record.parameters["node"]
        why = detail or f"{operation.value} of {node} was stopped"
        return ended(operation, node, facts, succeeded=record.state is RunState.SUCCESS, why=why)

    def _check(self, call: Call) -> _Checked:
        operation = call.operation
        if not _NODE_NAME.fullmatch(call.node):
            raise OperationRefused(_unknown(call.node[:253]))
        faults: list[str] = []
        revision = None
        if operation in WITH_DESIGN:
            revision, fault = self._revision(call.body)
            faults += [fault] if fault else []
        elif call.body is not None:
            faults.append(f"{operation.value} takes no body.")
        # A named design is one of ours; what protects running things is in the newest committed one.
        protection = self.check_etcd.protection(revision or 0)
        sent, limits, wrong = read_limits(operation, call.query, protection.limits)
        unread = protection.faults if operation.takes_members else ()
        unreadable = [f"Revision {protection.revision} cannot be used: {fault.message}" for fault in unread]
        if faults := [*faults, *wrong, *unreadable]:
            raise OperationRefused(refused(Reason.BAD_REQUEST, *faults))
        parameters: dict[str, Any] = {"node": call.node, "operation": operation.value, **sent}
        if revision is not None:
            parameters["revision"] = revision
        bound = None if operation is NodeOperation.UNCORDON else _binding(self.check_etcd.protection.policy())
        return _Checked(NodeName(call.node), parameters, revision or protection.revision, limits, bound)

    def _revision(self, body: JsonObject | None) -> tuple[Revision | None, str]:
        if body is None:
            return None, "The body must be a design reference: an object with rel, href and type."
        try:
            revision = parse_reference(body, self.design_template)
        except NotOurDesign as wrong:
            return None, str(wrong)
        try:
            self.designs.revision(revision)
        except UnknownRevision:
            return None, f"This site has no revision {revision}: name one of its own."
        return revision, ""

    def _new(self, operation: NodeOperation, checked: _Checked, caller: Caller) -> NewAction:
        action = ActionId(self.new_id())
        inputs = ActionInputs(
            revision=checked.revision or 0,
            action=action,
            name=NODE_OPERATION.name,
            node=checked.node,
            operation=operation,
            limits=checked.limits,
            must_exist=True,
            policy=checked.policy,
        )
        return NewAction(
            id=action,
            name=NODE_OPERATION.name,
            parameters=checked.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=checked.revision,
            allow_intermediate_commits=None,
            inputs=inputs.to_json(),
            steps=self.definition.step_ids(inputs),
            exclusive=NODE_OPERATION.exclusive,
        )


def _binding(policy: PolicyInputs | None) -> PolicyInputs | None:
    """Return the rules of the committed policy that bind single operations: windows, if it names them."""
    windows = policy and binding(NODE_OPERATION, policy)
    return windows if windows and windows.paces else None


def _attached(tx: Transaction, operation: NodeOperation, checked: _Checked) -> ActionId | None:
    """Return the running action of the same call, None if nothing runs on the node; another operation is a conflict."""
    running = tx.actions.node_operations()
    same = next((action for action in running if action.parameters == checked.parameters), None)
    if same is not None:
        return same.id
    for action in running:
        other, node = NodeOperation(action.parameters["operation"]), action.parameters["node"]
        if node == checked.node:
            how = " with other parameters" if other is operation else ""
            raise OperationRefused(_conflict(f"{other.value} of {node} is running{how} as action {action.id}"))
        if other.takes_members and operation.takes_members:
            running_now = f"{other.value} of {node} is running as action {action.id}"
            raise OperationRefused(_conflict(f"{running_now}, and only one node of the site may leave etcd at a time"))
    return None


def _refuse_others(tx: Transaction, operation: NodeOperation, checked: _Checked) -> None:
    """Raise OperationRefused if a site action, work of an earlier action, or a hold is on the node."""
    node = checked.node
    running = tx.actions.running_site_action()
    if running is not None:
        action, name, _ = running
        on_etcd = ACTIONS[name].excludes(operation)
        if on_etcd or _works_on(tx, action, name, node):
            where = "it may take etcd members out" if on_etcd else f"it works on {node}"
            raise OperationRefused(_conflict(f"{name} {action} is running, and {where}"))
    try:
        refuse_stragglers(tx.stragglers.open(), [node])
    except Conflict as work:
        message = "{operation} of an earlier action is still under way: job {job} of action {action}"
        message = message.format_map(work.data)
        raise OperationRefused(_conflict(message)) from work
    does = NodeWork.OTHER if operation is NodeOperation.UNCORDON else NodeWork.TEARDOWN
    if holds := [hold for hold in tx.holds.active([node]) if hold.forbids([does])]:
        sentences = [f"Hold {hold.id}: node {node} is {hold}." for hold in holds]
        raise OperationRefused(refused(Reason.CONFLICT, *sentences))


def _works_on(tx: Transaction, action: ActionId, name: ActionName, node: NodeName) -> bool:
    """Return whether a running site action works on the node, or may do so once it knows its nodes."""
    if targets := ActionInputs.from_json(tx.actions.inputs(action)).targets:
        return node in targets
    if not ACTIONS[name].on_site:
        return False
    newest = tx.nodes.history(node, before=None, limit=1)
    if newest and newest[0].action == action:
        return True
    return not tx.actions.nodes(action, status=(), group=(), after="", limit=1)


def _unknown(node: str) -> OperationEnded:
    return refused(Reason.NOT_FOUND, f"Kubernetes does not know the node {node}.")


def _conflict(why: str) -> OperationEnded:
    return refused(Reason.CONFLICT, f"{why}. Nothing was begun: wait until it has ended, then call again.")
