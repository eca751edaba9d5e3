"""Find the running actions that workers of this release leave to workers of another one."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.ports.state.turns import Unfinished
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.workflow.definition import Definition, Steps, unknown_part

_KEPT_ACTIONS = 64  # actions whose steps are kept in memory


class SkippedAction(Struct, frozen=True):
    """An action that this release cannot run, and which part of it this release does not know."""

    action: ActionId
    unknown: str


class FindSkippedActions(Struct, frozen=True):
    """The use case; changes nothing. Raises StoreUnavailable if the database does not answer.

    ``definitions``: those of this release, by the name of their action. ``known_steps`` is a cache.
    """

    store: Store
    definitions: Mapping[ActionName, Definition]
    known_steps: dict[ActionId, Steps] = field(default_factory=dict)

    def __call__(self) -> Sequence[SkippedAction]:
        """Return the actions in order of their creation."""
        return self.store.read(
            lambda tx: [
                SkippedAction(entry.action, unknown)
                for entry in tx.turns.unfinished()
                if (unknown := self._unknown(tx, entry))
            ]
        )

    def _unknown(self, tx: Transaction, action: Unfinished) -> str:
        definition = self.definitions.get(action.name)
        steps = None if definition is None else self._steps(tx, action.action, definition)
        return unknown_part(action.name, steps, action.open_steps, action.version)

    def _steps(self, tx: Transaction, action: ActionId, definition: Definition) -> Steps:
        """Return the steps of an action. Its inputs may be large, and never change: they are read once."""
        steps = self.known_steps.get(action)
        if steps is None:
            steps = definition.steps(definition.read(tx.actions.inputs(action)))
            if len(self.known_steps) >= _KEPT_ACTIONS:
                self.known_steps.clear()
            self.known_steps[action] = steps
        return steps
