"""Pause, unpause and stop an action that runs, and try again one that failed (contract: shipyard-rest, 6.7)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shipyard_api.domain.actions import CONTROLLABLE, ActionId, ActionName, Control, RunState
from shipyard_api.domain.errors import Conflict, NotFound
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.store import ActionRecord, NewAction, Store, Transaction
from shipyard_api.usecases.context import Caller
from shipyard_api.usecases.preconditions import refuse_stragglers, site_is_busy
from shipyard_api.workflow.definition import Definition


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

    def retry(self, action_id: str, caller: Caller, *, force: bool) -> ActionRecord:
        """Return a new action that leaves alone what the failed one deployed, and tries the rest again.

        It works from the same revision and limits. Raises NotFound and Conflict, and then nothing is stored; ``force``
        does not mind nodes that are still being worked on.
        """
        old = ActionId(action_id)
        with self.store.begin() as tx:
            record = tx.actions.get(old)
            _check(action_id, Control.RETRY, record.state if record else None)
            if record is None:
                raise NotFound("Action not found", f"Unknown action {action_id}")
            return self._again(tx, record, caller, force=force)

    def _again(self, tx: Transaction, old: ActionRecord, caller: Caller, *, force: bool) -> ActionRecord:
        inputs = tx.actions.inputs(old.id)
        kept = sorted({*inputs.get("kept", ()), *tx.actions.deployed(old.id)})
        if not force:
            refuse_stragglers(tx.stragglers.open(), None, apart_from=frozenset(kept))
        new = ActionId(self.new_id())
        action = NewAction(
            id=new,
            name=old.name,
            parameters=old.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=old.revision,
            allow_intermediate_commits=old.allow_intermediate_commits,
            inputs={**inputs, **SiteInputs.from_json(inputs).to_json(), "action": new, "kept": kept, "retried": old.id},
            steps=[step.id for step in self.definitions[old.name].steps],
        )
        with site_is_busy():
            return tx.actions.create(action)


def _check(action_id: str, control: Control, state: RunState | None) -> None:
    if state is None:
        raise NotFound("Action not found", f"Unknown action {action_id}")
    needed = CONTROLLABLE[control]
    if state is not needed:
        raise Conflict(
            f"Unable to {control.value} action", f"dag_run state must be {needed.value}, but is {state.value}"
        )
