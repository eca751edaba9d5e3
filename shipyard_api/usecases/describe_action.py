"""Show actions, their steps, groups and nodes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.errors import NotFound
from shipyard_api.ports.store import (
    ActionRecord,
    CommandRecord,
    GroupRecord,
    JournalEntry,
    NodeRecord,
    StepRecord,
    Store,
    Transaction,
)


@dataclass(frozen=True, slots=True)
class ActionWithSteps:
    """An action and its steps, in order."""

    action: ActionRecord
    steps: Sequence[StepRecord]


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a long list is asked for. Empty filters let everything through."""

    status: Collection[str] = ()
    group: Collection[str] = ()
    limit: int = 100


@dataclass(frozen=True, slots=True)
class DescribeAction:
    """The use case; none of these changes anything. Raises NotFound for an unknown action or step."""

    store: Store

    def ping(self) -> None:
        """Return if the database answers; raises StoreUnavailable otherwise."""
        with self.store.begin() as tx:
            tx.actions.running_site_action()

    def all(self) -> Sequence[ActionWithSteps]:
        """Return every action, in order of creation."""
        with self.store.begin() as tx:
            actions = tx.actions.all()
            steps = tx.actions.steps([action.id for action in actions])
        return [ActionWithSteps(action, steps[action.id]) for action in actions]

    def one(self, action: str) -> tuple[ActionWithSteps, Sequence[CommandRecord]]:
        """Return an action with its steps and its command audit."""
        with self.store.begin() as tx:
            record = _action(tx, action, f"Unknown Action: {action}")
            steps = tx.actions.steps([record.id])[record.id]
            return ActionWithSteps(record, steps), tx.actions.commands(record.id)

    def step(self, action: str, step: str) -> tuple[ActionWithSteps, StepRecord | None]:
        """Return a step with its action; no record for a bare group id such as ``drydock_build``."""
        with self.store.begin() as tx:
            record = _action(tx, action, f"Unknown action {action}")
            steps = tx.actions.steps([record.id])[record.id]
        found = [one for one in steps if one.id == step]
        if not found and not any(StepId(one.id).startswith(f"{step}.") for one in steps):
            raise NotFound("Step not found", f"Unknown step {step}")
        return ActionWithSteps(record, steps), found[0] if found else None

    def groups(self, action: str, page: Page, after: int) -> Sequence[GroupRecord]:
        """Return deployment groups after a position."""
        with self.store.begin() as tx:
            record = _action(tx, action, f"Unknown action {action}")
            return tx.actions.groups(record.id, status=page.status, group=page.group, after=after, limit=page.limit)

    def nodes(self, action: str, page: Page, after: str) -> Sequence[NodeRecord]:
        """Return nodes after a name."""
        with self.store.begin() as tx:
            record = _action(tx, action, f"Unknown action {action}")
            return tx.actions.nodes(record.id, status=page.status, group=page.group, after=after, limit=page.limit)

    def journal(self, action: str) -> Sequence[JournalEntry]:
        """Return what happened to an action, in order."""
        with self.store.begin() as tx:
            return tx.actions.journal(_action(tx, action, f"Unknown action {action}").id)


def _action(tx: Transaction, action: str, unknown: str) -> ActionRecord:
    record = tx.actions.get(ActionId(action))
    if record is None:
        raise NotFound("Action not found", unknown)
    return record
