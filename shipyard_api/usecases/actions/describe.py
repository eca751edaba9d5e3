"""Show actions, their steps, groups and nodes, and list actions."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain import teardown_progress
from shipyard_api.domain.actions import BARE_GROUPS, ActionId, ActionName, RunState, StepId
from shipyard_api.domain.errors import ActionNotFound, StepNotFound
from shipyard_api.domain.facts.cases import KINDS as CASES
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.notes import kinds
from shipyard_api.domain.strategy.criteria import SuccessCriteria, needed
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.state.actions import ActionFilters, ActionRecord, DescribedAction, StepRecord
from shipyard_api.ports.state.groups import GroupRecord
from shipyard_api.ports.state.journal import StepRun
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.storage.unit_of_work import Store, Transaction


class ActionWithSteps(Struct, frozen=True):
    """An action and its steps, in order."""

    action: ActionRecord
    steps: Sequence[StepRecord]


class ActionRun(Struct, frozen=True):
    """An action, its steps in order, and the runs of steps that have started."""

    action: ActionRecord
    steps: Sequence[StepRecord]
    runs: Mapping[StepId, StepRun]


class ListedGroup(Struct, frozen=True):
    """A deployment group, and the least number of nodes that must succeed in it."""

    group: GroupRecord
    needs: int


class Page(Struct, frozen=True):
    """Filters and size of a page. Empty filters match everything."""

    status: Collection[str] = ()
    group: Collection[str] = ()
    limit: int = 100


class DescribeAction(Struct, frozen=True):
    """The use case; changes nothing. Raises NotFound for an unknown action or step."""

    store: Store

    def version(self, action: str) -> str:
        """Return an opaque version that changes whenever the representation of the action does."""
        version = self.store.read(lambda tx: tx.actions.version(ActionId(action)))
        if version is None:
            raise ActionNotFound(action)
        return version

    def one(self, action: str, verbosity: int, known: str) -> tuple[str, DescribedAction | None]:
        """Return the version of an action and, unless that is the known one, the action.

        It has the journal entries that its validations, teardowns, cases and notes need.
        """
        wanted = {FindingReported.kind, *teardown_progress.KINDS, *CASES, *kinds(verbosity)}
        described = self.store.read(lambda tx: tx.actions.described(ActionId(action), wanted, known))
        if described is None:
            raise ActionNotFound(action)
        return described

    def step(self, action: str, step: str) -> tuple[ActionRun, StepRecord | None]:
        """Return a step with its action; no record for a bare group id such as ``drydock_build``."""
        with self.store.begin() as tx:
            run = _run(tx, _action(tx, action))
        records = [record for record in run.steps if record.id == step]
        if not records and not (step in BARE_GROUPS and any(record.id.startswith(f"{step}.") for record in run.steps)):
            raise StepNotFound(step)
        return run, records[0] if records else None

    def created_at(self, name: ActionName, moment: datetime) -> ActionRun | None:
        """Return the action with this name and exact creation time."""
        with self.store.begin() as tx:
            record = tx.actions.created_at(name, moment)
            return _run(tx, record) if record else None

    def groups(self, action: str, page: Page, after: int) -> Sequence[ListedGroup]:
        """Return deployment groups after a position."""
        with self.store.begin() as tx:
            record = _action(tx, action)
            records = tx.actions.groups(record.id, status=page.status, group=page.group, after=after, limit=page.limit)
            strategy = ActionInputs.from_json(tx.actions.inputs(record.id)).strategy
        criteria = {group.name: group.success_criteria for group in strategy.groups}
        return [
            ListedGroup(
                group, needed(criteria.get(GroupName(group.name), SuccessCriteria()), sum(group.nodes.values()))
            )
            for group in records
        ]

    def nodes(self, action: str, page: Page, after: str, names: Collection[str] = ()) -> Sequence[NodeRecord]:
        """Return nodes after a name, only those with one of the names if there are any."""
        with self.store.begin() as tx:
            record = _action(tx, action)
            return tx.actions.nodes(
                record.id, status=page.status, group=page.group, names=names, after=after, limit=page.limit
            )

    def journal(self, action: str) -> Sequence[JournalEntry]:
        """Return the journal of an action, in order."""
        with self.store.begin() as tx:
            return tx.journal.entries(_action(tx, action).id)


def _run(tx: Transaction, action: ActionRecord) -> ActionRun:
    return ActionRun(action, tx.actions.steps([action.id])[action.id], tx.journal.step_runs(action.id))


def _action(tx: Transaction, action: str) -> ActionRecord:
    record = tx.actions.get(ActionId(action))
    if record is None:
        raise ActionNotFound(action)
    return record


_FIRST = datetime.min.replace(tzinfo=UTC)


class ListQuery(Struct, frozen=True):
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


class ListActions(Struct, frozen=True):
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
