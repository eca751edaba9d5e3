"""List actions, all of them or a filtered page of them, in order of creation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.state.actions import ActionFilters, ActionRecord
from shipyard_api.ports.state.store import Store
from shipyard_api.usecases.actions.describe import ActionWithSteps

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which actions are asked for. Empty filters let everything through.

    ``since``: a moment, or how long ago that is. ``after``: the id of the last one that was seen. ``limit``: the most
    to return, None for all.
    """

    names: Collection[ActionName] = ()
    states: Collection[RunState] | None = None
    users: Collection[str] = ()
    since: datetime | timedelta | None = None
    after: ActionId | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ListActions:
    """The use case; changes nothing. Both lists come with whether there are more behind them."""

    store: Store
    clock: Clock

    def __call__(self, query: ListQuery) -> tuple[Sequence[ActionRecord], bool]:
        """Return the actions alone."""
        filters, limit = self._asked(query)
        with self.store.begin() as tx:
            found = tx.actions.matching(filters, after=query.after, limit=limit)
        return found[: query.limit], query.limit is not None and len(found) > query.limit

    def versions(self, query: ListQuery) -> tuple[Sequence[tuple[ActionId, str]], bool]:
        """Return the ids of the actions, each with a text that changes with whatever is shown of the action."""
        filters, limit = self._asked(query)
        found = self.store.read(lambda tx: tx.actions.versions(filters, after=query.after, limit=limit))
        return found[: query.limit], query.limit is not None and len(found) > query.limit

    def some(self, actions: Sequence[ActionId]) -> Sequence[ActionWithSteps]:
        """Return these actions, each with its steps; one that is gone is left out."""
        found, steps = self.store.read(lambda tx: (tx.actions.by_ids(actions), tx.actions.steps(actions)))
        return [ActionWithSteps(action, steps[action.id]) for action in found]

    def _asked(self, query: ListQuery) -> tuple[ActionFilters, int | None]:
        """Return which actions are looked for, and how many: one more than is shown tells whether there is more."""
        filters = ActionFilters(query.names, query.states, query.users, self._since(query.since))
        return filters, None if query.limit is None else query.limit + 1

    def _since(self, since: datetime | timedelta | None) -> datetime | None:
        if not isinstance(since, timedelta):
            return since
        try:
            return self.clock.now() - since
        except OverflowError:
            return _FIRST
