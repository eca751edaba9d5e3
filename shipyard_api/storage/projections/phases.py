"""``group_phases``: the phases of groups, a row for each batch."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.groups import PhaseStatus
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections.line import Line


def project(connection: sa.Connection, line: Line, fact: Fact) -> None:
    """Bring the phases up to date."""
    match fact:
        case PhaseStarted():
            connection.execute(
                t.group_phases.insert().values(
                    action_id=line.action,
                    group_name=fact.group,
                    phase=fact.phase.value,
                    batch=fact.batch,
                    status=PhaseStatus.RUNNING.value,
                    job=fact.job,
                    nodes=list(fact.nodes),
                    submitted_at=line.at,
                )
            )
        case PhaseRunning():
            phases = t.group_phases
            own = (phases.c.action_id == line.action, phases.c.group_name == fact.group, phases.c.batch == fact.batch)
            connection.execute(
                phases.update().where(*own, phases.c.phase == fact.phase.value).values(running_at=line.at)
            )
        case PhaseEnded():
            _end(connection, line, fact)


def _end(connection: sa.Connection, line: Line, fact: PhaseEnded) -> None:
    """End a phase. One that the provisioner never accepted has no row yet."""
    ended = {"status": fact.status.value, "message": fact.message, "ended_at": line.at}
    statement = insert(t.group_phases).values(
        action_id=line.action,
        group_name=fact.group,
        phase=fact.phase.value,
        batch=fact.batch,
        job="",
        nodes=[],
        submitted_at=line.at,
        **ended,
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=["action_id", "group_name", "phase", "batch"], set_=ended)
    )
