"""Wake-ups as Procrastinate jobs: a task for turns, with the action as lock, and one for runs of work items.

Our own transaction calls Procrastinate's functions in the database, so state and wake-up cannot disagree. The queue
compares with the database's clock, so ``queue_time`` translates the site's time.
"""

from datetime import datetime, timedelta

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.wakeup import Statement

QUEUE = "turns"
TASK = "turn"
ITEMS_QUEUE = "items"
ITEMS_TASK = "items"

_JOB = (
    "ROW(CAST(:queue AS varchar), CAST(:task AS varchar), {priority}, {lock}, NULL, "
    "jsonb_build_object('action', CAST(:action AS text)), "
    "queue_time(CAST(:at AS timestamptz)))::procrastinate_job_to_defer_v1"
)
# A turn goes before the runs of items: it is short, and other actions wait for it.
_TURN_JOB = _JOB.format(priority=10, lock="CAST(:action AS text)")
_DEFER_TURN = f"SELECT procrastinate_defer_jobs_v1(ARRAY[{_TURN_JOB}])"
_DEFER_URGENT_TURN = f"SELECT procrastinate_defer_jobs_v1(ARRAY[{_JOB.format(priority=20, lock='NULL')}])"
# Runs of one action work side by side, so they have no lock.
_RUN_JOB = _JOB.format(priority=0, lock="NULL")
_UNLESS_QUEUED = (
    " WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE lock = :action AND status IN ('todo', 'doing'))"
)
_UNLESS_TURN_QUEUED_FOR_THEN = (
    " WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE lock = :action AND status = 'todo' "
    "AND coalesce(scheduled_at, '-infinity') <= queue_time(:at))"
)
# A job that waits for another one with its lock is not late. Jobs for "at once" are due when they were queued.
_LOAD = """
SELECT queue, state, count(*) AS jobs,
       CAST(extract(epoch FROM now() - min(since) FILTER (WHERE state = 'due')) AS float8) AS oldest
FROM (
    SELECT queue_name AS queue,
           CASE WHEN status = 'doing' THEN 'running'
                WHEN scheduled_at > now() OR EXISTS (
                    SELECT 1 FROM procrastinate_jobs AS other WHERE other.lock = job.lock AND other.status = 'doing'
                ) THEN 'scheduled'
                ELSE 'due' END AS state,
           coalesce(scheduled_at, (
               SELECT min(at) FROM procrastinate_events WHERE job_id = job.id AND type = 'deferred'
           )) AS since
    FROM procrastinate_jobs AS job WHERE status IN ('todo', 'doing')
) AS jobs GROUP BY queue, state
"""
_HEARTBEATS = "SELECT CAST(extract(epoch FROM now() - last_heartbeat) AS float8) FROM procrastinate_workers"
_RUNS = "SELECT 1 FROM procrastinate_jobs WHERE queue_name = :queue AND args->>'action' = :action"


class ProcrastinateWakeup:
    """Fills ``ports.wakeup.Wakeup``."""

    def statement(self, action: ActionId, at: datetime | None) -> Statement:
        """Return the statement that queues a turn."""
        return Statement(_DEFER_TURN, _turn(action, at))

    def urgent(self, action: ActionId) -> Statement:
        """Return the statement that queues a turn without the lock: the turn that holds it may wait for a peer."""
        return Statement(_DEFER_URGENT_TURN, _turn(action, None))

    def reminder(self, action: ActionId) -> Statement:
        """Return the statement that queues a turn unless one is queued or runs."""
        return Statement(_DEFER_TURN + _UNLESS_QUEUED, _turn(action, None))

    def gather(self, action: ActionId, at: datetime) -> Statement:
        """Return the statement that queues a turn, unless one that has not begun is queued for then or earlier."""
        return Statement(_DEFER_TURN + _UNLESS_TURN_QUEUED_FOR_THEN, _turn(action, at))

    def runs(self, action: ActionId, count: int, limit: int, at: datetime | None) -> Statement:
        """Return the statement that queues runs, as many as there is room for."""
        # Only constants of this module are put into the SQL here and below; values are bound.
        existing = f"(SELECT count(*) FROM ({_RUNS} AND status IN ('todo', 'doing') LIMIT :limit) AS existing)"  # noqa: S608
        sql = (
            f"SELECT procrastinate_defer_jobs_v1(array_agg({_RUN_JOB})) "  # noqa: S608
            f"FROM generate_series(1, least(:count, :limit - {existing})) HAVING count(*) > 0"
        )
        return Statement(sql, {**_run(action, at), "count": count, "limit": limit})

    def next_run(self, action: ActionId, at: datetime) -> Statement:
        """Return the statement that queues one run, unless one that has not begun is queued for then or earlier."""
        queued = f"{_RUNS} AND status = 'todo' AND coalesce(scheduled_at, '-infinity') <= queue_time(:at)"
        sql = f"SELECT procrastinate_defer_jobs_v1(ARRAY[{_RUN_JOB}]) WHERE NOT EXISTS ({queued})"
        return Statement(sql, _run(action, at))

    def shift(self, step: timedelta) -> Statement:
        """Return the statement that moves everything that is queued for a time."""
        sql = (
            "UPDATE procrastinate_jobs SET scheduled_at = scheduled_at + make_interval(secs => :seconds) "
            "WHERE status = 'todo' AND scheduled_at IS NOT NULL"
        )
        return Statement(sql, {"seconds": step.total_seconds()})

    def run_exists(self, holder: str) -> str:
        """Return SQL that says whether the run is at work; its name is the id of its job."""
        return f"EXISTS (SELECT 1 FROM procrastinate_jobs WHERE CAST(id AS text) = {holder} AND status = 'doing')"  # noqa: S608

    def load(self) -> str:
        """Return SQL for the jobs by queue and state."""
        return _LOAD

    def heartbeats(self) -> str:
        """Return SQL for the seconds since the last heartbeat of each worker."""
        return _HEARTBEATS


def _turn(action: ActionId, at: datetime | None) -> dict[str, str | datetime | int | None]:
    return {"queue": QUEUE, "task": TASK, "action": action, "at": at}


def _run(action: ActionId, at: datetime | None) -> dict[str, str | datetime | int | None]:
    return {"queue": ITEMS_QUEUE, "task": ITEMS_TASK, "action": action, "at": at}
