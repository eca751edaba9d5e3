"""``task_results``: each task on each node of an action."""

from datetime import timedelta

import sqlalchemy as sa

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.software import TaskChanged, TaskStatus
from shipyard_api.storage.batched_writes import BatchedWrites, insert_rows
from shipyard_api.storage.projections import Line
from shipyard_api.storage.site_tables import task_results

_OPEN = frozenset({TaskStatus.RUNNING, TaskStatus.LEFT})
_LATER = ("status", "marker", "ended_at", "exit_status", "attempts", "seconds", "detail", "tail")
_ADD = insert_rows(task_results, *task_results.c.keys())
_SAME_RUN = task_results.c.marker == _ADD.excluded.marker
_BEGAN = sa.case((_SAME_RUN, task_results.c.began_at), else_=_ADD.excluded.began_at)
_ADD = _ADD.on_conflict_do_update(
    constraint=task_results.primary_key,
    set_={**{name: _ADD.excluded[name] for name in _LATER}, "began_at": _BEGAN},
)
"""A task that also accepts nodes runs under another marker later: then the row is of that run."""


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
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
            "began_at": (line.at - timedelta(seconds=result.seconds)).isoformat(),
            "ended_at": None if result.status in _OPEN else line.at.isoformat(),
            "exit_status": result.exit_status,
            "attempts": result.attempts,
            "seconds": result.seconds,
            "detail": result.detail,
            "tail": result.tail,
        }
        for result in fact.results
    ]
    writes.add(_ADD, {"rows": rows})
