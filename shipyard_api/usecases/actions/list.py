"""List actions in order of creation or newest first, with filters and pages."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.state.actions import ActionFilters, ActionRecord
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.describe import ActionWithSteps

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Filters and page of a list of actions. Empty filters match everything.

    ``since``: a time, or a duration before now. ``after``: the id of the last action of the previous page.
    ``descending``: newest first. ``limit``: maximum number of actions, None for all.
    """

    names: Collection[ActionName] = ()
    states: Collection[RunState] | None = None
    users: Collection[str] = ()
    since: datetime | timedelta | None = None
    after: ActionId | None = None
    descending: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ListActions:
    """The use case; changes nothing. Lists come with whether there are more actions."""

    store: Store
    clock: Clock

    def __call__(self, query: ListQuery) -> tuple[Sequence[ActionRecord], bool]:
        """Return the actions without their steps."""
        filters, limit = self._filters(query)
        with self.store.begin() as tx:
            records = tx.actions.matching(filters, after=query.after, descending=query.descending, limit=limit)
        return records[: query.limit], query.limit is not None and len(records) > query.limit

    def versions(self, query: ListQuery) -> tuple[Sequence[tuple[ActionId, str]], bool]:
        """Return the ids of the actions, each with an opaque version that changes with its representation."""
        filters, limit = self._filters(query)
        versions = self.store.read(
            lambda tx: tx.actions.versions(filters, after=query.after, descending=query.descending, limit=limit)
        )
        return versions[: query.limit], query.limit is not None and len(versions) > query.limit

    def further(self, actions: Sequence[ActionId]) -> Mapping[ActionId, JsonObject]:
        """Return the further members of the requests of these actions; without those that had none."""
        return self.store.read(lambda tx: tx.actions.further(actions))

    def by_ids(self, actions: Sequence[ActionId]) -> Sequence[ActionWithSteps]:
        """Return these actions with their steps; unknown ids are skipped."""
        records, steps = self.store.read(lambda tx: (tx.actions.by_ids(actions), tx.actions.steps(actions)))
        return [ActionWithSteps(action, steps[action.id]) for action in records]

    def _filters(self, query: ListQuery) -> tuple[ActionFilters, int | None]:
        """Return the filters and the limit of the query: one more than the page, to detect a next page."""
        filters = ActionFilters(query.names or ACTIONS.listed, query.states, query.users, self._since(query.since))
        return filters, None if query.limit is None else query.limit + 1

    def _since(self, since: datetime | timedelta | None) -> datetime | None:
        if not isinstance(since, timedelta):
            return since
        try:
            return self.clock.now() - since
        except OverflowError:
            return _FIRST
