"""``task_results``: each task on each node of an action."""

from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.software import TaskChanged, TaskStatus
from shipyard_api.storage.projections.line import Line
from shipyard_api.storage.software_tables import task_results

_OPEN = frozenset({TaskStatus.RUNNING, TaskStatus.LEFT})
_LATER = ("status", "ended_at", "exit_status", "attempts", "seconds", "detail", "tail")


def project(connection: sa.Connection, line: Line, fact: Fact) -> None:
    """Add what began, and complete what ended."""
    if not isinstance(fact, TaskChanged):
        return
    rows = [
        {
            "action_id": line.action,
            "node": result.node,
            "task": fact.task,
            "status": result.status.value,
            "marker": fact.marker,
            "began_at": line.at - timedelta(seconds=result.seconds),
            "ended_at": None if result.status in _OPEN else line.at,
            "exit_status": result.exit_status,
            "attempts": result.attempts,
            "seconds": result.seconds,
            "detail": result.detail,
            "tail": result.tail,
        }
        for result in fact.results
    ]
    adding = insert(task_results)
    later = {name: adding.excluded[name] for name in _LATER}
    connection.execute(adding.on_conflict_do_update(constraint=task_results.primary_key, set_=later), rows)
