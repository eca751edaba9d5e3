"""The journal: each fact as a row, which brings projections up to date, and its entries for readers."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.cases.case import Earlier
from shipyard_api.domain.facts.cases import CaseOpened
from shipyard_api.domain.facts.codec import decode, encode
from shipyard_api.domain.facts.fact import Fact, JournalEntry
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.facts.steps import AttemptFailed, StepStarted
from shipyard_api.ports.provisioner import JobId
from shipyard_api.ports.state.journal import ActionEntry, Ends, StepRun
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import (
    Line,
    groups,
    holds,
    node_changes,
    node_specifications,
    node_teardowns,
    nodes,
    phases,
    stragglers,
    task_results,
)

# Phases refer to groups, so groups come first. Holds count the outcomes of nodes, so nodes come before.
_PROJECTIONS = (
    groups.project,
    phases.project,
    nodes.project,
    node_changes.project,
    stragglers.project,
    node_teardowns.project,
    task_results.project,
    holds.project,
    node_specifications.project,
)
_INSERT = t.journal.insert().inline()


def record(connection: sa.Connection, line: Line, facts: Sequence[Fact]) -> None:
    """Write facts to the journal, in their order, and bring the projections up to date."""
    writes = BatchedWrites(connection)
    project(writes, line, facts)
    write(writes, [(line, fact) for fact in facts])
    writes.send()


def project(writes: BatchedWrites, line: Line, facts: Sequence[Fact]) -> None:
    """Bring the projections up to date."""
    for fact in facts:
        for projection in _PROJECTIONS:
            projection(writes, line, fact)


def write(writes: BatchedWrites, entries: Sequence[tuple[Line, Fact]]) -> None:
    """Write facts to the journal, in their order."""
    for line, fact in entries:
        row = {
            "action_id": line.action,
            "epoch": line.epoch,
            "step_id": line.step,
            "kind": fact.kind,
            "at": line.at,
            "worker": line.worker,
            "facts": dict(encode(fact)),
        }
        writes.add(_INSERT, row)


Row = sa.Row[Any]

# An entry can name every node of a site. Sizes are as stored: compressed to a half or a fifth.
_PAGE_BYTES = 100_000
_MOST_CASES = 200

# Ids are not in the order of commits. Each transaction that inserts holds a shared advisory lock on the lowest id that
# its entries can get (migration 0018), until it has ended. The snapshot of this statement is older than the list of
# locks: an entry below ``last`` that it does not show is either below a lock, or visible to the next statement.
_ENDS = sa.text("""
    SELECT own.last, least(own.last, own.open - 1) AS settled FROM (
        SELECT
            (SELECT coalesce(max(id), 0) FROM journal) AS last,
            (
                SELECT min(((classid::bigint & 65535) << 32) + objid::bigint) FROM pg_locks
                WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = 21271
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            ) AS open
    ) AS own
""")


class Journal:
    """The journal of actions for readers; the engine writes it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def owner(self, job: JobId) -> str:
        """Return which group and action started a job, as part of a sentence; empty if none did."""
        lines = t.journal.c
        job_started = (t.STARTED_A_JOB, lines.facts["job"].as_string() == job)
        query = sa.select(lines.action_id, lines.facts["group"].as_string().label("group_name"))
        row = self._connection.execute(query.where(*job_started).order_by(lines.at).limit(1)).one_or_none()
        if row is None:
            return ""
        return f"group {row.group_name} of action {row.action_id}" if row.group_name else f"action {row.action_id}"

    def jobs_since(self, moment: datetime) -> frozenset[JobId]:
        """Return every job of the provisioner that an action has recorded since then."""
        lines = t.journal.c
        rows = self._connection.execute(sa.select(lines.kind, lines.facts).where(t.STARTED_A_JOB, lines.at >= moment))
        facts = [decode(row.kind, row.facts) for row in rows]
        return frozenset(JobId(fact.job) for fact in facts if isinstance(fact, PhaseStarted | JobStarted))

    def entries(self, action: ActionId, kinds: Collection[str] = ()) -> Sequence[JournalEntry]:
        """Return the entries of an action, in order; only those of the given kinds, if any are given."""
        lines = t.journal.c
        query = sa.select(t.journal).where(lines.action_id == action)
        if kinds:
            query = query.where(lines.kind.in_(kinds))
        return [_entry(row) for row in self._connection.execute(query.order_by(lines.id))]

    def step_runs(self, action: ActionId) -> Mapping[StepId, StepRun]:
        """Return how each step ran that has begun."""
        lines = t.journal.c
        begun: dict[StepId, str] = {}
        failed: defaultdict[StepId, list[int]] = defaultdict(list)
        for row in self._connection.execute(
            sa.select(lines.id, lines.step_id, lines.kind, lines.worker)
            .where(lines.action_id == action, lines.kind.in_([StepStarted.kind, AttemptFailed.kind]))
            .order_by(lines.id)
        ):
            if row.kind == AttemptFailed.kind:
                failed[StepId(row.step_id)].append(row.id)
            else:
                begun[StepId(row.step_id)] = row.worker
        return {step: StepRun(worker, failed[step]) for step, worker in begun.items()}

    def extent(self, action: ActionId, steps: Collection[StepId]) -> tuple[int, int]:
        """Return how many entries there are about these steps, and the last id: entries are only ever added."""
        lines = t.journal.c
        counted = sa.select(sa.func.count().label("number"), sa.func.coalesce(sa.func.max(lines.id), 0).label("last"))
        row = self._connection.execute(counted.where(lines.action_id == action, lines.step_id.in_(steps))).one()
        return row.number, row.last

    def step_entries(
        self, action: ActionId, step: StepId, *, after: int, until: int | None, limit: int
    ) -> Sequence[JournalEntry]:
        """Return the entries about a step with ids above ``after`` and up to ``until``, in order.

        Returns at most ``limit`` entries, and fewer if they are large; none only if there are no more.
        """
        lines = t.journal.c
        query = sa.select(t.journal).where(lines.action_id == action, lines.step_id == step, lines.id > after)
        if until is not None:
            query = query.where(lines.id <= until)
        return [_entry(row) for row in self._connection.execute(_page(query, limit))]

    def ends(self) -> Ends:
        """Return how far the journal is written, and how far it can be read without missing a later commit."""
        row = self._connection.execute(_ENDS).one()
        return Ends(row.last, row.settled)

    def following(self, after: int, until: int, *, action: ActionId | None, limit: int) -> Sequence[ActionEntry]:
        """Return entries, of one action or (None) of all, with ids above ``after`` and up to ``until``, in order.

        ``until`` must be settled, by an earlier query. Returns at most ``limit`` entries, and fewer if they are large;
        none only if there are no more.
        """
        lines = t.journal.c
        query = (
            sa.select(t.journal, t.actions.c.name)
            .join(t.actions, t.actions.c.id == lines.action_id)
            .where(lines.id > after, lines.id <= until)
        )
        if action is not None:
            query = query.where(lines.action_id == action)
        rows = self._connection.execute(_page(query, limit))
        return [ActionEntry(ActionId(row.action_id), row.name, _entry(row)) for row in rows]

    def earlier_cases(self, action: ActionId, keys: Collection[str]) -> Mapping[str, Earlier]:
        """Return which of these causes earlier actions had, of the newest cases that were opened."""
        lines = t.journal.c
        query = sa.select(lines.action_id, lines.at, lines.facts).where(lines.action_id < action)
        query = query.where(t.OF_A_CASE, lines.kind == CaseOpened.kind)
        found: dict[str, Earlier] = {}
        seen: set[tuple[str, str]] = set()
        for row in self._connection.execute(query.order_by(lines.action_id.desc()).limit(_MOST_CASES)):
            fact = decode(CaseOpened.kind, row.facts)
            if not isinstance(fact, CaseOpened) or fact.case.key not in keys or (row.action_id, fact.case.key) in seen:
                continue
            seen.add((row.action_id, fact.case.key))
            known = found.get(fact.case.key)
            newest = known.action if known else row.action_id
            found[fact.case.key] = Earlier(known.times + 1 if known else 1, row.at, newest)
        return found

    def entry(self, entry: int) -> tuple[ActionId, JournalEntry] | None:
        """Return one entry by its id, and the action that it belongs to."""
        row = self._connection.execute(sa.select(t.journal).where(t.journal.c.id == entry)).one_or_none()
        return (ActionId(row.action_id), _entry(row)) if row else None

    def action_notes(self, actions: Collection[ActionId] | None = None) -> Sequence[tuple[ActionId, JournalEntry]]:
        """Return the notes on these actions (None: on all) that belong to no step, in order.

        The few entries of these kinds have an index of their own.
        """
        query = sa.select(t.journal).where(t.ON_AN_ACTION)
        if actions is not None:
            query = query.where(t.journal.c.action_id.in_(actions))
        rows = self._connection.execute(query.order_by(t.journal.c.id))
        return [(ActionId(row.action_id), _entry(row)) for row in rows]


def _page(query: "sa.Select[Any]", limit: int) -> "sa.Select[Any]":
    """Return the query of a page of these entries: the database measures them, without reading them."""
    page = query.order_by(t.journal.c.id).limit(limit).subquery()
    size = sa.func.pg_column_size(page.c.facts)
    before = (sa.func.sum(size).over(order_by=page.c.id) - size).label("before")
    measured = sa.select(page, before).subquery()
    return sa.select(measured).where(measured.c.before < _PAGE_BYTES).order_by(measured.c.id)


def _entry(row: Row) -> JournalEntry:
    step = StepId(row.step_id) if row.step_id else None
    return JournalEntry(row.id, row.epoch, step, row.at, row.worker, decode(row.kind, row.facts))
