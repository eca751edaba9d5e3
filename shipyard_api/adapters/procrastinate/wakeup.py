"""Wake-ups as Procrastinate jobs: one task, with the action as lock.

Our own transaction calls Procrastinate's functions in the database, so state and wake-up cannot disagree.
"""

from datetime import datetime

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.wakeup import Statement

QUEUE = "turns"
TASK = "turn"

_DEFER = (
    "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(CAST(:queue AS varchar), CAST(:task AS varchar), 0, "
    "CAST(:lock AS text), NULL, jsonb_build_object('action', CAST(:lock AS text)), "
    "CAST(:at AS timestamptz))::procrastinate_job_to_defer_v1])"
)
_UNLESS_QUEUED = (
    " WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE lock = :lock AND status IN ('todo', 'doing'))"
)


class ProcrastinateWakeup:
    """Fills ``ports.wakeup.Wakeup``."""

    def statement(self, action: ActionId, at: datetime | None) -> Statement:
        """Return the statement that queues a turn."""
        return Statement(_DEFER, {"queue": QUEUE, "task": TASK, "lock": action, "at": at})

    def reminder(self, action: ActionId) -> Statement:
        """Return the statement that queues a turn unless one is queued or runs."""
        return Statement(_DEFER + _UNLESS_QUEUED, {"queue": QUEUE, "task": TASK, "lock": action, "at": None})
