"""The worker process: runs queued turns, and sweeps up after crashes.

Crash-only: an error that the worker cannot handle, such as the loss of its database, ends the process at once, and a
supervisor restarts it. Nothing is lost: the state is in our tables, and the next heartbeat requeues unfinished jobs.
"""

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import procrastinate
import psycopg
import psycopg_pool
from procrastinate import JobContext
from procrastinate.jobs import Job

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.lifeline import BuriedError, Lifeline, ended_without_answer
from shipyard_api.adapters.procrastinate.service_manager import notify
from shipyard_api.adapters.procrastinate.slots import Slots
from shipyard_api.adapters.procrastinate.visits import NEVER, ListeningConnection
from shipyard_api.adapters.procrastinate.wakeup import ITEMS_QUEUE, ITEMS_TASK, QUEUE, TASK
from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase

LOG = logging.getLogger(__name__)

# Seconds before a turn that lost its database is tried again.
_OUTAGE_PAUSE = 0.5
# Jobs that wait for peers, beside those that have a slot: as many as may wait for five of them.
_MOST_WAITING = 160


class TurnWorker:
    """Runs the turns queued in the Postgres of ``conninfo``; ``run``, ``run_items`` and ``sweep`` are the engine's.

    The process ends with exit code 2 as soon as ``sweep`` raises UnsuitableDatabase: the schema was changed meanwhile.
    ``waiting`` returns how many running turns wait for a peer; other jobs begin instead. ``lag`` returns by how many
    seconds this worker lets others take jobs first. ``chores`` may take long:
    none waits for another; ``chores_seconds``: the pause between two runs of one. ``on_connect``: SQL for a new
    connection. ``beside``: what never ends, each in a thread that ends with the process.
    """

    def __init__(
        self,
        conninfo: str,
        run: Callable[[ActionId], None],
        run_items: Callable[[ActionId, str], None],
        sweep: Callable[[], int],
        options: WorkerOptions,
        *,
        waiting: Callable[[], int] = lambda: 0,
        lag: Callable[[], float] = lambda: 0.0,
        chores: Sequence[Callable[[], object]] = (),
        chores_seconds: float = 10.0,
        on_connect: str = "",
        beside: Sequence[Callable[[], object]] = (),
    ) -> None:
        self._conninfo = conninfo
        self._run = run
        self._run_items = run_items
        self._sweep = sweep
        self._chores = chores
        self._chores_seconds = chores_seconds
        self._options = options
        self._on_connect = on_connect
        self._beside = beside
        connector = procrastinate.PsycopgConnector(
            pool_factory=_pool, conninfo=conninfo, min_size=1, max_size=4, timeout=10, configure=self._configure
        )
        self._app = procrastinate.App(connector=connector)
        self._slots = Slots(options.concurrency, waiting, lag)
        self._lifeline = Lifeline(
            connector, self._connect, _lost, options.stalled_seconds, self._slots, options.poll_seconds
        )
        self._app.job_manager = self._lifeline
        self._app.task(name=TASK, queue=QUEUE, retry=_AfterOutage())(self._turn)
        self._app.task(name=ITEMS_TASK, queue=ITEMS_QUEUE, retry=_AfterOutage(), pass_context=True)(self._items)

    def run(self) -> int:
        """Work until a signal stops the worker; return the exit code, 1 after an unrecoverable error."""
        try:
            return asyncio.run(self._work())
        except (procrastinate.exceptions.ConnectorException, psycopg.OperationalError) as error:
            _lost(error)

    @property
    def heartbeat_age(self) -> float | None:
        """Seconds since the latest heartbeat; None before the first. May be read in any thread."""
        at = self._lifeline.beat_at
        return None if at is None else time.monotonic() - at

    async def _work(self) -> int:
        options = self._options
        loop = asyncio.get_running_loop()
        most_jobs = options.concurrency + _MOST_WAITING
        # More threads than jobs, so that sweep and chores never wait for a turn.
        threads = ThreadPoolExecutor(max_workers=most_jobs + 1 + len(self._chores), thread_name_prefix="turn")
        loop.set_default_executor(threads)
        # The end of a job that could not be recorded: the queue would consider the job running for ever.
        loop.set_exception_handler(
            lambda _loop, context: _end("worker gives up", f"{context.get('message')}: {context.get('exception')}")
        )
        for endless in self._beside:
            threading.Thread(target=endless, daemon=True).start()
        async with self._app.open_async():
            worker = asyncio.create_task(
                self._app.run_worker_async(
                    queues=[QUEUE, ITEMS_QUEUE],
                    concurrency=most_jobs,  # the slots allow fewer
                    fetch_job_polling_interval=NEVER,  # the lifeline knows when a job is due
                    abort_job_polling_interval=NEVER,
                    update_heartbeat_interval=NEVER,  # the lifeline sends them
                    stalled_worker_timeout=NEVER,
                    shutdown_graceful_timeout=options.graceful_seconds,
                    delete_jobs="successful",
                    install_signal_handlers=False,
                )
            )
            stopped = _stop_on_signal(loop, worker, self._slots)
            others = [
                asyncio.create_task(self._live()),
                asyncio.create_task(self._every(options.sweep_seconds, self._sweep_up)),
                *(
                    asyncio.create_task(self._every(self._chores_seconds, partial(asyncio.to_thread, chore)))
                    for chore in self._chores
                ),
            ]
            try:
                await worker
            except asyncio.CancelledError:
                if not stopped.is_set():
                    raise
            finally:
                for task in others:
                    task.cancel()
        # Without a signal, the worker ends only when a part of it has failed.
        return 0 if stopped.is_set() else 1

    async def _live(self) -> None:
        """Send heartbeats, also to the service manager, and end the process when the database is lost."""
        try:
            await self._lifeline.registered.wait()
            notify("READY=1")
            while True:
                # Half: this worker ends before others consider it dead, and its supervisor finds the next primary.
                with ended_without_answer(_lost, self._options.stalled_seconds / 2):
                    taken = await self._lifeline.beat()
                notify("WATCHDOG=1")
                for job, lock in taken:
                    LOG.warning("job without a worker queued again", extra={"action": lock, "job": job})
                await asyncio.sleep(self._options.heartbeat_seconds)
        except (psycopg.Error, BuriedError) as error:
            _lost(error)

    async def _every(self, seconds: float, task: Callable[[], Coroutine[Any, Any, object]]) -> None:
        while True:
            try:
                await task()
            except Exception:
                LOG.exception("sweep broke")
            await asyncio.sleep(seconds)

    async def _sweep_up(self) -> None:
        try:
            woken = await asyncio.to_thread(self._sweep)
        except UnsuitableDatabase as error:
            _end("worker does not fit its database", error, code=2)
        if woken:
            LOG.warning("overdue actions woken", extra={"actions": woken})

    def _turn(self, action: str) -> None:
        with _paused_by_outage():
            self._run(ActionId(action))

    def _items(self, context: JobContext, action: str) -> None:
        with _paused_by_outage():
            self._run_items(ActionId(action), str(context.job.id))

    async def _connect(self) -> "psycopg.AsyncConnection[Any]":
        connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        await self._configure(connection)
        return connection

    async def _configure(self, connection: "psycopg.AsyncConnection[Any]") -> None:
        if self._on_connect:
            await connection.execute(self._on_connect.encode())
            await connection.commit()


@contextmanager
def _paused_by_outage() -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        time.sleep(_OUTAGE_PAUSE)
        raise


class _AfterOutage(procrastinate.BaseRetryStrategy):
    """Keeps the job of a turn that lost its database; without a queue either, the process ends."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> procrastinate.RetryDecision | None:
        if not isinstance(exception, StoreUnavailable):
            return None
        return procrastinate.RetryDecision(retry_at=None)


def _pool(**options: Any) -> "psycopg_pool.AsyncConnectionPool[Any]":
    """Return a pool that does not test its connections before use: a dead one ends the process anyway."""
    return psycopg_pool.AsyncConnectionPool(**{**options, "check": None, "connection_class": ListeningConnection})


def _stop_on_signal(loop: asyncio.AbstractEventLoop, worker: "asyncio.Task[None]", slots: Slots) -> asyncio.Event:
    """Let SIGTERM and SIGINT stop the worker; a second signal ends the process. Return an event for the first."""
    stopped = asyncio.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def stop() -> None:
        notify("STOPPING=1")
        stopped.set()
        slots.stop()
        for number in numbers:
            loop.remove_signal_handler(number)
        worker.cancel()

    for number in numbers:
        loop.add_signal_handler(number, stop)
    return stopped


def _lost(error: Exception) -> NoReturn:
    _end("worker has no database", error)


def _end(message: str, error: object, *, code: int = 1) -> NoReturn:
    """End the process without waiting for turns: threads in a call to a peer would hold it up for minutes."""
    cause = getattr(error, "__cause__", None)
    LOG.error(message, extra={"trouble": f"{error or type(error).__name__}" + (f": {cause}" if cause else "")})
    logging.shutdown()
    os._exit(code)
