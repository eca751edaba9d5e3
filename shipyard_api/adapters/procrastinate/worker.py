"""The worker process: runs queued turns, and sweeps up after crashes.

Crash-only: an error that the worker cannot handle ends the process, and a supervisor restarts it. Nothing is lost: the
state is in our tables, and the sweep requeues unfinished jobs.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import procrastinate
import psycopg
from procrastinate import JobContext

from shipyard_api.adapters.procrastinate.options import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ITEMS_QUEUE, ITEMS_TASK, QUEUE, TASK
from shipyard_api.domain.actions import ActionId

LOG = logging.getLogger(__name__)

_SWEEP_QUEUE = "sweeps"


class TurnWorker:
    """Runs the turns queued in the Postgres of ``conninfo``; ``run`` and ``sweep`` are the engine's."""

    def __init__(
        self,
        conninfo: str,
        run: Callable[[ActionId], None],
        run_items: Callable[[ActionId, str], None],
        sweep: Callable[[], int],
        options: WorkerOptions,
    ) -> None:
        self._run = run
        self._run_items = run_items
        self._sweep = sweep
        self._options = options
        self._broken = False
        self._app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=4, timeout=10)
        )
        self._app.task(name=TASK, queue=QUEUE)(self._turn)
        self._app.task(name=ITEMS_TASK, queue=ITEMS_QUEUE, pass_context=True)(self._items)
        # Six fields, with the seconds last.
        cron = f"* * * * * */{options.sweep_seconds}"
        sweeper = self._app.task(name="sweep", queue=_SWEEP_QUEUE, queueing_lock="sweep", pass_context=True)
        self._app.periodic(cron=cron)(sweeper(self._sweep_up))

    def run(self) -> int:
        """Work until a signal stops the worker; return the exit code, 1 after an unrecoverable error."""
        try:
            asyncio.run(self._work())
        except (procrastinate.exceptions.ConnectorException, psycopg.OperationalError) as error:
            detail = f"{error}: {error.__cause__}" if error.__cause__ else str(error)
            LOG.error("worker has no database", extra={"trouble": detail})  # noqa: TRY400  # the traceback adds nothing
            return 1
        return 1 if self._broken else 0

    async def _work(self) -> None:
        options = self._options
        loop = asyncio.get_running_loop()
        # Two more threads than jobs, so that a sweep never waits for a turn.
        threads = ThreadPoolExecutor(max_workers=options.concurrency + 2, thread_name_prefix="turn")
        loop.set_default_executor(threads)
        async with self._app.open_async():
            worker = asyncio.current_task()
            loop.set_exception_handler(lambda _loop, context: self._give_up(worker, context))
            try:
                await self._app.run_worker_async(
                    queues=[QUEUE, ITEMS_QUEUE, _SWEEP_QUEUE],
                    concurrency=options.concurrency,
                    fetch_job_polling_interval=options.poll_seconds,
                    abort_job_polling_interval=60.0,
                    update_heartbeat_interval=options.heartbeat_seconds,
                    stalled_worker_timeout=options.stalled_seconds,
                    shutdown_graceful_timeout=options.graceful_seconds,
                    delete_jobs="successful",
                )
            except asyncio.CancelledError:
                if not self._broken:
                    raise

    def _give_up(self, worker: "asyncio.Task[Any] | None", context: dict[str, Any]) -> None:
        """End the process if the end of a job could not be recorded: the queue would consider it running for ever."""
        error = context.get("exception")
        LOG.error("worker gives up", extra={"trouble": f"{context.get('message')}: {error}"})
        self._broken = True
        if worker is not None:
            worker.cancel()

    def _turn(self, action: str) -> None:
        self._run(ActionId(action))

    def _items(self, context: JobContext, action: str) -> None:
        self._run_items(ActionId(action), str(context.job.id))

    async def _sweep_up(self, context: JobContext, timestamp: int) -> None:
        """Requeue the jobs of dead workers, and wake overdue actions."""
        manager = self._app.job_manager
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=self._options.stalled_seconds):
            LOG.warning("job of a dead worker taken up", extra={"action": job.lock, "job": job.id})
            await manager.retry_job(job)
        woken = await asyncio.to_thread(self._sweep)
        if woken:
            LOG.warning("overdue actions woken", extra={"actions": woken})
