"""``group_phases``: the phases of groups, a row for each batch."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.groups import PhaseStatus
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import Line

_phases = t.group_phases
_START = _phases.insert()
_RUNNING = _phases.update().where(
    _phases.c.action_id == sa.bindparam("of_action"),
    _phases.c.group_name == sa.bindparam("of_group"),
    _phases.c.phase == sa.bindparam("of_phase"),
    _phases.c.batch == sa.bindparam("of_batch"),
)
# One that the provisioner never accepted has no row yet.
_END = insert(_phases)
_END = _END.on_conflict_do_update(
    index_elements=["action_id", "group_name", "phase", "batch"],
    set_={name: _END.excluded[name] for name in ("status", "message", "ended_at")},
)


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Bring the phases up to date."""
    match fact:
        case PhaseStarted():
            started = {"status": PhaseStatus.RUNNING.value, "job": fact.job, "nodes": list(fact.nodes)}
            writes.add(_START, {**_row(line, fact), **started})
        case PhaseRunning():
            key = {"of_action": line.action, "of_group": fact.group, "of_phase": fact.phase.value}
            writes.add(_RUNNING, {**key, "of_batch": fact.batch, "running_at": line.at})
        case PhaseEnded():
            ended = {"status": fact.status.value, "message": fact.message, "ended_at": line.at}
            writes.add(_END, {**_row(line, fact), "job": "", "nodes": [], **ended})


def _row(line: Line, fact: PhaseStarted | PhaseEnded) -> dict[str, Any]:
    return {
        "action_id": line.action,
        "group_name": fact.group,
        "phase": fact.phase.value,
        "batch": fact.batch,
        "submitted_at": line.at,
    }
