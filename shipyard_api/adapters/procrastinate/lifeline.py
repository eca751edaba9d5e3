"""Which workers live: each holds a lock in the database, on a connection that ends with its process.

The database releases the lock of a killed worker at once, so the next heartbeat of any other worker finds it dead and
queues its jobs again. A frozen worker, and one whose host has vanished, is dead after a time without heartbeats.
"""

import asyncio
import logging
import math
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, NoReturn

import psycopg
from procrastinate import jobs
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager, NotificationCallback

from shipyard_api.adapters.procrastinate.slots import Slots

LOG = logging.getLogger(__name__)

_LOCKS = 0x5317_DB01
"""The first of the two keys of a worker's lock; the second is the worker's id."""

_REGISTRATION_SECONDS = 10.0
# Seconds after the moment when a job is due: a fetch that comes a little early finds nothing.
_LATER = 0.01
# In one statement, so that no process sees a worker without its lock.
_REGISTER = """
SELECT worker_id, pg_advisory_lock(%(locks)s, worker_id::int) FROM procrastinate_register_worker_v1()
"""
_DUE = """
SELECT extract(epoch FROM min(coalesce(scheduled_at, now())) - now())::float8
FROM procrastinate_jobs WHERE status = 'todo'
"""
# In one statement, because most of what an idle worker takes is its heartbeats. Jobs without a worker are those of dead
# workers: the foreign key is SET NULL.
_BEAT = f"""
WITH me AS (UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker)s RETURNING id)
SELECT EXISTS (SELECT FROM me), ARRAY(
    SELECT json_build_array(id, last_heartbeat::text, EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
        AND classid = %(locks)s AND objid = worker.id
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )) FROM procrastinate_workers AS worker WHERE id <> %(worker)s
), EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'doing' AND worker_id IS NULL),
ARRAY(SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = %(worker)s), ({_DUE})
"""  # noqa: S608  # of constants
# By id and worker: a job may have ended since the heartbeat.
_LET_GO = """
UPDATE procrastinate_jobs SET worker_id = NULL WHERE status = 'doing' AND worker_id = %(worker)s AND id = ANY(%(left)s)
"""
_BURY = "DELETE FROM procrastinate_workers WHERE id = ANY(%(dead)s)"
_TAKE_OVER = """
UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1, scheduled_at = NULL
WHERE status = 'doing' AND worker_id IS NULL RETURNING id, lock
"""


class BuriedError(Exception):
    """Other workers consider this one dead and have taken over its jobs."""


@contextmanager
def ended_without_answer(lost: Callable[[Exception], object], seconds: float) -> Iterator[None]:
    """Call ``lost`` if the block takes longer.

    Not a timeout of asyncio: it cancels the query, and the driver waits 10 s for a frozen server to confirm that.
    """
    error = TimeoutError(f"no answer for {seconds:g} s")
    timer = asyncio.get_running_loop().call_later(seconds, lost, error)
    try:
        yield
    finally:
        timer.cancel()


class Lifeline(JobManager):
    """Procrastinate's job manager with a lock for the worker's life, and without queries while nothing is due."""

    def __init__(
        self,
        connector: BaseConnector,
        connect: Callable[[], Awaitable["psycopg.AsyncConnection[Any]"]],
        lost: Callable[[Exception], NoReturn],
        stalled: float,
        slots: Slots,
        poll_seconds: float,
    ) -> None:
        """``connect`` makes the connection; ``lost`` is called when the queue is out of reach.

        ``stalled``: seconds without a heartbeat after which a worker is dead. ``poll_seconds``: how often the queue is
        polled while a job is due that cannot be fetched.
        """
        super().__init__(connector)
        self._slots = slots
        self._connect = connect
        self._lost = lost
        self._stalled = stalled
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._in_use = asyncio.Lock()
        self._worker: int | None = None
        # Set once others can distinguish this worker from a dead one.
        self.registered = asyncio.Event()
        # Heartbeats of other workers, and when each was first seen here: a clock that is set ends no worker.
        self._heartbeats: dict[int, tuple[str, float]] = {}
        # The jobs that run here, and those that the latest heartbeat found to be this worker's without running.
        self._running: set[int | None] = set()
        self._not_running: frozenset[int] = frozenset()
        self._fetching = 0
        # On the monotonic clock: when the latest heartbeat was written; None before the first.
        self.beat_at: float | None = None
        self._poll_seconds = poll_seconds
        # On the monotonic clock: when the next job is due, as far as is known.
        self._next_job_at = 0.0
        # Lets Procrastinate's worker fetch a job.
        self._wake: Callable[[], Awaitable[None]] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._waking: asyncio.Future[None] | None = None

    async def register_worker(self) -> int:
        """Register the worker, take its lock, and log that it is ready."""
        with ended_without_answer(self._lost, _REGISTRATION_SECONDS):
            connection = await self._connect()
            row = await (await connection.execute(_REGISTER, {"locks": _LOCKS})).fetchone()
        assert row is not None  # noqa: S101  # the function returns one row
        self._connection, self._worker = connection, int(row[0])
        self.registered.set()
        LOG.info("worker is ready", extra={"host": socket.gethostname(), "pid": os.getpid()})
        return self._worker

    async def unregister_worker(self, worker_id: int) -> None:
        """Delete the worker, whose jobs have ended, and release its lock."""
        async with self._in_use:
            connection, self._connection = self._connection, None
            await super().unregister_worker(worker_id)
            if connection is not None:
                await connection.close()

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> jobs.Job | None:
        """Return a job that is due, once there is a slot for it; asks the database only if one may be."""
        if time.monotonic() < self._next_job_at:
            return None
        if time.monotonic() < self._next_job_at + self._lag():
            self._poll_at(self._next_job_at)
            return None
        if not await self._slots.free():
            return None
        self._fetching += 1
        try:
            job = await super().fetch_job(queues, worker_id)
        except ConnectorException as error:
            # Not repeated: a job may have been fetched, whose action would wait for two heartbeats.
            self._lost(error)
        finally:
            self._fetching -= 1
        if job is not None:
            self._running.add(job.id)
            self._slots.take()
        elif time.monotonic() >= self._next_job_at:
            # It waits for another one of its action, or has a notification that came meanwhile.
            self._poll_at(time.monotonic() + self._poll_seconds)
        return job

    async def finish_job(self, job: jobs.Job, status: jobs.Status, delete_job: bool) -> None:
        """Record the end of a job, and give its slot back."""
        await super().finish_job(job, status, delete_job)
        self._ended(job)

    async def retry_job(
        self,
        job: jobs.Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Queue a job again, and give its slot back."""
        await super().retry_job(job, retry_at, priority, queue, lock)
        self._ended(job)

    def _ended(self, job: jobs.Job) -> None:
        self._running.discard(job.id)
        self._slots.give_back()

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Pass on notifications about new jobs."""

        async def notified(*, channel: str, notification: jobs.Notification) -> None:
            # Until the next heartbeat: the job may have to wait for another one of its action.
            self._next_job_at = min(self._next_job_at, time.monotonic())
            await on_notification(channel=channel, notification=notification)

        inserted = jobs.JobInserted(type="job_inserted", job_id=0)
        self._wake = partial(on_notification, channel="", notification=inserted)
        self._poll_at(self._next_job_at)  # a heartbeat may have found a job before
        await super().listen_for_jobs(on_notification=notified, queues=queues)

    async def beat(self) -> list[tuple[int, str | None]]:
        """Send a heartbeat, and queue the jobs of dead workers again; return id and lock of each.

        Also those that are this worker's and do not run: a restored dump may name it for what it did at that time.
        Raises psycopg.Error if the connection is lost, BuriedError if this worker was taken for dead.
        """
        async with self._in_use:
            connection = self._connection
            if connection is None:
                return []
            values = {"worker": self._worker, "locks": _LOCKS}
            alive, others, orphaned, own, seconds_to_next = await _row(connection, _BEAT, values)
            if not alive:
                raise BuriedError(f"no heartbeat for {self._stalled:g} s: other workers have taken over")
            taken = []
            dead, left = self._dead(others), self._left(own)
            if dead or orphaned or left:
                async with connection.transaction():
                    await connection.execute(_BURY, {"dead": dead})
                    await connection.execute(_LET_GO, {"worker": self._worker, "left": left})
                    taken = await (await connection.execute(_TAKE_OVER)).fetchall()
                    (seconds_to_next,) = await _row(connection, _DUE)
        self.beat_at = time.monotonic()
        self._next_job_at = math.inf if seconds_to_next is None else time.monotonic() + seconds_to_next
        self._poll_at(self._next_job_at)
        return [(int(job), lock) for job, lock in taken]

    def _poll_at(self, moment: float) -> None:
        """Fetch jobs at a moment of the monotonic clock, and no other; infinity: not before a notification.

        Later, if there are other workers and this one lets them go first.
        """
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if math.isfinite(moment):
            self._alarm = asyncio.get_running_loop().call_at(moment + self._lag() + _LATER, self._poll)

    def _lag(self) -> float:
        return self._slots.lag() if self._heartbeats else 0.0

    def _poll(self) -> None:
        if self._wake is not None:
            self._waking = asyncio.ensure_future(self._wake())

    def _dead(self, others: Iterable[tuple[int, str, bool]]) -> list[int]:
        """Return the workers without a lock, and those whose heartbeat has not changed for too long."""
        now = time.monotonic()
        known, self._heartbeats, dead = self._heartbeats, {}, []
        for worker, heartbeat, has_lock in others:
            before, seen = known.get(worker, ("", now))
            self._heartbeats[worker] = (heartbeat, seen if heartbeat == before else now)
            if not has_lock or now - self._heartbeats[worker][1] > self._stalled:
                dead.append(worker)
        return dead

    def _left(self, own: Iterable[int]) -> list[int]:
        """Return the jobs that ran nowhere at this heartbeat and at the one before.

        One that has just ended is no longer this worker's at the next; one that is being fetched is not judged.
        """
        before = self._not_running
        self._not_running = frozenset() if self._fetching else frozenset(own) - self._running
        return sorted(self._not_running & before)


async def _row(
    connection: "psycopg.AsyncConnection[Any]", query: str, values: Mapping[str, object] | None = None
) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = await (await connection.execute(query.encode(), values)).fetchone()
    assert row is not None  # noqa: S101  # a SELECT without FROM returns one row
    return row
