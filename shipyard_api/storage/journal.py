"""The journal: each fact as a row. Recording a fact also brings the projections up to date."""

from collections.abc import Sequence

import sqlalchemy as sa

from shipyard_api.domain.facts.codec import encode
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import (
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
from shipyard_api.storage.projections.line import Line

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
