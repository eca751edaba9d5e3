"""``stragglers``: jobs that Shipyard no longer waits for, until they end."""

from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import Line

_ADD = insert(t.stragglers).on_conflict_do_nothing()


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Add the job that was left behind; a second time changes nothing."""
    match fact:
        case WorkLeftBehind():
            writes.add(
                _ADD,
                {
                    "action_id": line.action,
                    "job": fact.job,
                    "operation": fact.operation,
                    "design": fact.design,
                    "nodes": None if fact.nodes is None else list(fact.nodes),
                    "why": fact.why,
                    "since": line.at,
                    "look_at": line.at,
                },
            )
