"""Pause, unpause and stop an action that runs, and try again one that failed (contract: shipyard-rest, 6.7)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.actions import (
    CHECKS,
    EXCLUSIVE,
    ActionId,
    ActionName,
    ActionState,
    Control,
    DocumentChecks,
)
from shipyard_api.domain.errors import Conflict, NotFound
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import parse_parameters
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.ports.state.errors import SiteBusy
from shipyard_api.ports.state.store import Store, Transaction
from shipyard_api.usecases.actions.create import noted
from shipyard_api.usecases.actions.preconditions import refuse_stragglers, site_is_busy
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.workflow.definition import Definition


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """What a retry of an action would be: its stored inputs, the nodes that are left alone, and why it is refused."""

    action: ActionRecord
    inputs: JsonObject
    kept: Sequence[NodeName]
    refused: Conflict | None


@dataclass(frozen=True, slots=True)
class ControlAction:
    """The use case."""

    store: Store
    definitions: Mapping[ActionName, Definition]
    new_id: Callable[[], str]

    def __call__(self, action_id: str, control: Control, caller: Caller) -> None:
        """Pause, unpause or stop; raises NotFound, and Conflict when the action's state does not allow it."""
        with self.store.begin() as tx:
            state = tx.actions.control(ActionId(action_id), control, caller.user)
        _check(action_id, control, state)

    def name_of(self, action_id: str) -> ActionName:
        """Return which action it is; raises NotFound."""
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action_id))
        if record is None:
            raise NotFound("Action not found", f"Unknown action {action_id}")
        return record.name

    def retry(self, action_id: str, caller: Caller, *, force: bool) -> ActionRecord:
        """Return a new action that leaves alone what the failed one deployed, and tries the rest again.

        It works from the same revision and limits. Raises NotFound and Conflict, and then nothing is stored; ``force``
        does not mind nodes that are still being worked on.
        """
        old = ActionId(action_id)
        with self.store.begin() as tx:
            record = tx.actions.get(old)
            _check(action_id, Control.RETRY, ActionState(record.state) if record else None)
            if record is None:
                raise NotFound("Action not found", f"Unknown action {action_id}")
            return self._again(tx, record, caller, force=force)

    def plan_retry(self, action_id: str, *, force: bool) -> RetryPlan:
        """Return what a retry would work from, and what would refuse it now. Changes nothing; raises NotFound."""
        with self.store.begin() as tx:
            old = tx.actions.get(ActionId(action_id))
            if old is None:
                raise NotFound("Action not found", f"Unknown action {action_id}")
            inputs, kept = _left(tx, old)
            refused = None
            try:
                _check(action_id, Control.RETRY, ActionState(old.state))
                with site_is_busy():
                    _look_out(tx, old.name, kept, force=force)
                    if old.name in EXCLUSIVE and (running := tx.actions.running_site_action()):
                        raise SiteBusy(*running)
            except Conflict as conflict:
                refused = conflict
        return RetryPlan(old, inputs, kept, refused)

    def _again(self, tx: Transaction, old: ActionRecord, caller: Caller, *, force: bool) -> ActionRecord:
        inputs, kept = _left(tx, old)
        _look_out(tx, old.name, kept, force=force)
        new, definition = ActionId(self.new_id()), self.definitions[old.name]
        action = NewAction(
            id=new,
            name=old.name,
            parameters=old.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=old.revision,
            allow_intermediate_commits=old.allow_intermediate_commits,
            inputs={**inputs, "action": new, "kept": kept, "retried": old.id},
            steps=[step.id for step in definition.steps],
            facts=noted(definition, parse_parameters(old.name, old.parameters)[1]),
        )
        with site_is_busy():
            return tx.actions.create(action)


def _left(tx: Transaction, old: ActionRecord) -> tuple[dict[str, Any], list[NodeName]]:
    """Return what a retry works from, and the nodes that it leaves alone, in order of name."""
    inputs = dict(tx.actions.inputs(old.id))
    if CHECKS[old.name].documents is not DocumentChecks.NONE:
        inputs |= SiteInputs.from_json(inputs).to_json()
    return inputs, sorted({*inputs.get("kept", ()), *tx.actions.deployed(old.id)})


def _look_out(tx: Transaction, name: ActionName, kept: Sequence[NodeName], *, force: bool) -> None:
    """Refuse a retry while work of an earlier action goes on on nodes that it would touch."""
    if not force and name in EXCLUSIVE:
        refuse_stragglers(tx.stragglers.open(), None, apart_from=frozenset(kept))


def _check(action_id: str, control: Control, state: ActionState | None) -> None:
    if state is None:
        raise NotFound("Action not found", f"Unknown action {action_id}")
    if refusal := state.refusal(control):
        raise Conflict(f"Unable to {control.value} action", f"dag_run state {refusal}")
