"""Pause, unpause or stop a running action, and retry or acknowledge a failed one (contract: shipyard-rest, 6.7)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.admission import windows_open
from shipyard_api.actions.beside import forbidding, refuse_held, refuse_operations, refuse_stragglers
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import (
    ActionId,
    ActionName,
    ActionState,
    Control,
    StepId,
    nodes_of_run,
)
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import (
    ActionNotFound,
    NotRetried,
    NoWindowOpens,
    Overtaken,
    SiteActionRunning,
    WrongState,
)
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.items import ItemId
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.plans.plan import PlanContent
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.agreed_plan import ALONE, Agreement, by_plan
from shipyard_api.usecases.actions.check import override
from shipyard_api.usecases.actions.create import first_notes
from shipyard_api.usecases.callers import Caller
from shipyard_api.workflow.definition import Definition

_EVERY_NODE: Any = {"status": (), "group": (), "after": "", "limit": 2**31 - 1}


class RetryPlan(Struct, frozen=True):
    """What a retry of an action would do, and why it is refused, if it is.

    ``held``: the active holds on nodes that it would touch.
    """

    action: ActionRecord
    inputs: ActionInputs
    held: Sequence[Hold]
    refusal: Conflict | None

    @property
    def kept(self) -> Sequence[NodeName]:
        """The nodes that it leaves alone, in order of name."""
        return self.inputs.kept or ()


class ControlAction(Struct, frozen=True):
    """The use case. ``closed``: returns why the windows of frozen inputs let no server begin any more."""

    store: Store
    definitions: Mapping[ActionName, Definition]
    new_id: Callable[[], str]
    closed: Callable[[SiteInputs], Sequence[Finding]] = lambda _inputs: ()

    def __call__(self, action_id: str, control: Control, caller: Caller) -> None:
        """Pause, unpause or stop; raises NotFound, and Conflict when the action's state does not allow it."""
        with self.store.begin() as tx:
            state = tx.actions.control(ActionId(action_id), control, caller.user)
        _check(action_id, control, state)

    def acknowledge(self, action_id: str, caller: Caller, reason: str) -> None:
        """Record that the caller has seen the failures. Only the first call counts. Raises NotFound and Conflict."""
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action_id))
            _check(action_id, Control.ACKNOWLEDGE, _state(tx, record) if record else None)
            text = f"{caller.user} has seen what failed" + (f": {reason}" if reason else "")
            tx.actions.acknowledge(ActionId(action_id), caller.user, text)

    def action(self, action_id: str) -> ActionRecord:
        """Return an action; raises NotFound."""
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action_id))
        if record is None:
            raise ActionNotFound(action_id)
        return record

    def inputs(self, action: ActionRecord) -> ActionInputs:
        """Return the frozen inputs of an action."""
        return self.store.read(lambda tx: _inputs(tx, action))

    def retry(
        self,
        action_id: str,
        caller: Caller,
        *,
        force: bool,
        may_override_holds: bool = False,
        agreement: Agreement = ALONE,
        content: PlanContent | None = None,
        software: JsonObject | None = None,
    ) -> ActionRecord:
        """Return a new action that keeps the nodes which an ended one deployed, and retries the rest.

        The ended one failed, or tolerated that nodes did. The new one uses the same revision and limits. Nodes that a
        later action lost are retried too, and nodes that a later action deployed are kept. Raises NotFound and
        Conflict, and then nothing is stored. ``force`` ignores stragglers on its nodes, later actions and, if the
        caller may, holds. ``content``: what the retry would do, if a plan is named; raises as ``by_plan``.
        ``software``: what it freezes of the task graph.
        """
        old = ActionId(action_id)
        with self.store.begin() as tx:
            record = tx.actions.get(old)
            if record is None:
                raise ActionNotFound(action_id)
            _check(action_id, Control.RETRY, _state(tx, record))
            _refuse_unlisted(record)
            if ACTIONS[record.name].exclusive:
                tx.actions.lock_creation()
            # First, so that the reads below see everything that a later action did.
            _refuse_second_site_action(tx, record)
            inputs = _retry_inputs(tx, record)
            kept = inputs.kept or ()
            self._refuse(tx, record, inputs, kept, force=force)
            held = refuse_held(_holds(tx, record, kept), force=force, may_override=may_override_holds)
            new = replace(self._new(record, inputs, caller), software=software)
            return tx.actions.create(by_plan(tx, override(new, held), agreement, content, held, caller))

    def plan_retry(self, action_id: str, *, force: bool, may_override_holds: bool = False) -> RetryPlan:
        """Return the inputs of a retry, and what would refuse it now. Changes nothing; raises NotFound."""
        with self.store.begin() as tx:
            old = tx.actions.get(ActionId(action_id))
            if old is None:
                raise ActionNotFound(action_id)
            _refuse_unlisted(old)
            inputs = _retry_inputs(tx, old)
            kept = inputs.kept or ()
            held = _holds(tx, old, kept)
            refusal = None
            try:
                _check(action_id, Control.RETRY, _state(tx, old))
                _refuse_second_site_action(tx, old)
                self._refuse(tx, old, inputs, kept, force=force)
                refuse_held(held, force=force, may_override=may_override_holds)
            except Conflict as conflict:
                refusal = conflict
        return RetryPlan(old, inputs, held, refusal)

    def _new(self, old: ActionRecord, inputs: ActionInputs, caller: Caller) -> NewAction:
        new, definition = ActionId(self.new_id()), self.definitions[old.name]
        inputs = replace(inputs, action=new)
        return NewAction(
            id=new,
            name=old.name,
            parameters=old.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=old.revision,
            allow_intermediate_commits=old.allow_intermediate_commits,
            inputs=inputs.to_json(),
            steps=definition.step_ids(inputs),
            exclusive=ACTIONS[old.name].exclusive,
            nodes=nodes_of_run(inputs.software),
            facts=first_notes(definition, inputs, ACTIONS.parse(old.name, old.parameters)[1]),
        )

    def _refuse(
        self, tx: Transaction, old: ActionRecord, inputs: ActionInputs, kept: Sequence[NodeName], *, force: bool
    ) -> None:
        """Raise Conflict if a retry with these inputs would be refused, whoever asks; windows are those it keeps."""
        if windows_open in ACTIONS[old.name].admission and (found := self.closed(inputs.of_site)):
            raise NoWindowOpens(found)
        action, touched = ACTIONS[old.name], _touched(tx, old, kept)
        _refuse_removed(tx, old, touched)
        _refuse_overtaken(tx, old, force=force)
        if not force and (action.on_site or inputs.targets):
            refuse_stragglers(tx.stragglers.open(), touched)
        refuse_operations(tx.actions.node_operations(), action, touched)


def _inputs(tx: Transaction, action: ActionRecord) -> ActionInputs:
    return ACTIONS[action.name].frozen.from_json(tx.actions.inputs(action.id))


def _retry_inputs(tx: Transaction, old: ActionRecord) -> ActionInputs:
    """Return the inputs of a retry, for its plan and for the action; the nodes that it keeps are in order of name."""
    # Members and holds were of another request.
    inputs = replace(_inputs(tx, old), further=None, overridden_holds=None)
    if inputs.site is not None:
        inputs = replace(inputs, site=_asking_policy(inputs.site))
    if ACTIONS[old.name].limited:
        # As an operator has set them since. Whether pods may be deleted needs a right that this caller may not have.
        limits = replace(tx.actions.limits(old.id), on_blocked=inputs.teardown.on_blocked)
        inputs = replace(inputs, limits=limits)
    kept = {*(inputs.kept or ()), *tx.actions.deployed(old.id)}
    wanted = {NodeName(record.name) for record in tx.actions.nodes(old.id, **_EVERY_NODE)}
    newest = tx.nodes.newest_since(old.created_at, wanted | kept)
    lost = {node for node, (_, status) in newest.items() if status is not NodeStatus.SUCCESS}
    again = ACTIONS[old.name].deploys
    deployed = {node for node, (name, _) in newest.items() if again and ACTIONS[name].deploys} - lost
    keeps = tuple(sorted((kept | deployed) - lost))
    return replace(inputs, kept=keeps, retried=old.id, kept_items=_kept_items(tx, old, inputs))


def _asking_policy(site: SiteInputs) -> SiteInputs:
    """Return the inputs of another try, which asks the policy again where the first was forced past it."""
    return replace(site, policy=site.policy and replace(site.policy, passed=False))


def _kept_items(tx: Transaction, old: ActionRecord, inputs: ActionInputs) -> dict[StepId, tuple[ItemId, ...]]:
    """Return the work items that a retry does not repeat: those that succeeded in the action or in an earlier try."""
    kept = dict(inputs.kept_items)
    for step, items in tx.items.succeeded(old.id).items():
        kept[step] = (*kept.get(step, ()), *items)
    return kept


def _refuse_second_site_action(tx: Transaction, old: ActionRecord) -> None:
    """Raise Conflict while a site action runs on its nodes; creating another one would raise the same."""
    if not ACTIONS[old.name].exclusive:
        return
    nodes = nodes_of_run(_inputs(tx, old).software)
    if running := tx.actions.running_site_action(nodes):
        raise SiteActionRunning(*running)


def _refuse_removed(tx: Transaction, old: ActionRecord, touched: Collection[NodeName] | None) -> None:
    """Raise Conflict if a later action has taken a server of this one down for good."""
    gone = tx.nodes.removed_since(old.created_at, touched or ())
    for newer in (tx.actions.get(action) for action in gone.values()):
        if newer is not None:
            raise Overtaken(old.id, newer.id, newer.name, newer.revision, sorted(gone), removed=True)


def _refuse_overtaken(tx: Transaction, old: ActionRecord, *, force: bool) -> None:
    """Raise Conflict if a later site action has worked on nodes of this one, or deployed another revision."""
    if force or not ACTIONS[old.name].exclusive:
        return
    if newer := tx.actions.successor(old):
        raise Overtaken(old.id, newer.action, newer.name, newer.revision, newer.nodes)


def _holds(tx: Transaction, old: ActionRecord, kept: Collection[NodeName]) -> Sequence[Hold]:
    """Return the active holds that forbid what a retry would do to its nodes: all but the kept ones.

    A software stage runs tasks on the kept ones, too. If the action ended before it knew its nodes, any held node may
    be one of them.
    """
    inputs = _inputs(tx, old)
    kept = kept if inputs.software is None else ()
    holds = [hold for hold in forbidding(tx.holds.active(), ACTIONS[old.name], inputs.site) if hold.node not in kept]
    touched = _touched(tx, old, kept) if holds else ()
    return [hold for hold in holds if touched is None or hold.node in touched]


def _touched(tx: Transaction, old: ActionRecord, kept: Collection[NodeName]) -> Collection[NodeName] | None:
    """Return the nodes that a retry would touch; None if the action ended before it knew them."""
    named = ACTIONS.parse(old.name, old.parameters)[0].named
    if not named and not ACTIONS[old.name].on_site:
        return ()
    known = named or [NodeName(record.name) for record in tx.actions.nodes(old.id, **_EVERY_NODE)]
    return frozenset(known) - frozenset(kept) if known else None


def _state(tx: Transaction, old: ActionRecord) -> ActionState:
    """Return the state of an action, and whether it succeeded although nodes or tasks of nodes did not."""
    if ACTIONS[old.name].removes:
        return ActionState(old.state)
    lost = [status.value for status in NodeStatus if status is not NodeStatus.SUCCESS]
    records = tx.actions.nodes(old.id, **{**_EVERY_NODE, "status": lost, "limit": 1})
    tasks = records or tx.task_results.of(old.id, status=[TaskStatus.FAILED], limit=1)
    return ActionState(old.state, tolerated=bool(tasks))


def _refuse_unlisted(old: ActionRecord) -> None:
    """Raise NotRetried for an operation on one node: a new request repeats it."""
    if not ACTIONS[old.name].listed:
        raise NotRetried(old.id)


def _check(action_id: str, control: Control, state: ActionState | None) -> None:
    if state is None:
        raise ActionNotFound(action_id)
    if refusal := state.refusal(control):
        raise WrongState(control, *refusal)
