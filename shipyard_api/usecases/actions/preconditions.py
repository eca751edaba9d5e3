"""Preconditions: of a new action, that nothing else is on its nodes; of a change to an action, that it runs."""

from collections.abc import Sequence
from dataclasses import replace

from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.errors import (
    ActionNotFound,
    ActionOver,
)
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.holds import OVERRIDDEN, Hold
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.storage.unit_of_work import Transaction


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
