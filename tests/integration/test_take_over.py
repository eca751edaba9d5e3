"""Which workers live, as the others see it: killed, frozen, buried, and under a clock that is set."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, NoReturn

import procrastinate
import psycopg
import pytest
from procrastinate.jobs import Status

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.lifeline import BuriedError, Lifeline, ended_without_answer
from shipyard_api.adapters.procrastinate.slots import Slots
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.domain.actions import ActionId
from tests.cuttable import cuttable

LONG = 3600.0  # seconds: no heartbeat of a test is that old


class Place:
    """Workers of one queue."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self.url = url
        self._stack = stack

    async def worker(self, stalled: float = LONG, lag: float = 0.0) -> tuple[Lifeline, int]:
        """A worker that has registered; with its id."""
        connector = procrastinate.PsycopgConnector(conninfo=self.url, min_size=1, max_size=1)
        await self._stack.enter_async_context(procrastinate.App(connector=connector).open_async())

        async def connect() -> psycopg.AsyncConnection[Any]:
            connection = await psycopg.AsyncConnection.connect(self.url, autocommit=True)
            self._stack.push_async_callback(connection.close)
            return connection

        def lost(error: Exception) -> NoReturn:
            raise error

        lifeline = Lifeline(connector, connect, lost, stalled, Slots(8, lambda: 0, lambda: lag), 0.5)
        return lifeline, await lifeline.register_worker()

    async def sql(self, text: str) -> list[tuple[Any, ...]]:
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            cursor = await connection.execute(text.encode())
            return await cursor.fetchall() if cursor.description else []

    async def job(self) -> None:
        await self.sql("INSERT INTO procrastinate_jobs (queue_name, task_name, lock) VALUES ('turns', 'turn', 'a')")

    async def kill(self, lifeline: Lifeline) -> None:
        """What the kernel does for a killed process."""
        assert lifeline._connection is not None
        session = lifeline._connection.info.backend_pid
        await lifeline._connection.close()
        while await self.sql(f"SELECT 1 FROM pg_stat_activity WHERE pid = {session}"):
            pass


def play(url: str, scene: Callable[[Place], Awaitable[None]]) -> None:
    async def played() -> None:
        async with AsyncExitStack() as stack:
            await scene(Place(url, stack))

    asyncio.run(played())


def test_the_job_of_a_killed_worker_is_taken_up_by_the_next_heartbeat(database_url: str) -> None:
    """Also when it had just started, and again and again."""

    async def scene(place: Place) -> None:
        survivor, _ = await place.worker()
        await place.job()
        for _ in range(3):
            killed, name = await place.worker()
            job = await killed.fetch_job(["turns"], name)
            assert job is not None
            assert await survivor.beat() == []
            await place.kill(killed)
            assert await survivor.beat() == [(job.id, "a")]
        assert await place.sql("SELECT status::text, attempts FROM procrastinate_jobs") == [("todo", 3)]
        assert len(await place.sql("SELECT id FROM procrastinate_workers")) == 1

    play(database_url, scene)


def test_a_worker_that_cannot_reach_a_peer_takes_a_job_only_when_others_have_let_it_wait(database_url: str) -> None:
    async def scene(place: Place) -> None:
        slow, name = await place.worker(lag=LONG)
        await place.job()
        await slow.beat()
        alone = await slow.fetch_job(["turns"], name)
        assert alone is not None
        await slow.finish_job(alone, Status.SUCCEEDED, delete_job=True)
        quick, other = await place.worker()
        patient, third = await place.worker(lag=0.01)
        await place.job()
        for worker in (slow, quick, patient):
            await worker.beat()
        assert await slow.fetch_job(["turns"], name) is None
        assert await quick.fetch_job(["turns"], other) is not None
        await place.sql("INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('turns', 'turn')")
        await patient.beat()
        while await patient.fetch_job(["turns"], third) is None:
            await asyncio.sleep(0.01)

    play(database_url, scene)


def ran_by_a_worker_without_heartbeats(database_url: str, count: int) -> list[str]:
    """Return the actions of the first turns that a worker runs; it sends one heartbeat when it starts."""
    ran: list[str] = []

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def run(action: ActionId) -> None:
        ran.append(action)
        if len(ran) == count:
            stop()

    too_late = threading.Timer(30, stop)
    too_late.start()
    options = WorkerOptions(heartbeat_seconds=LONG, stalled_seconds=2 * LONG, poll_seconds=0.05)
    assert TurnWorker(database_url, run, lambda _action, _name: None, lambda: 0, options).run() == 0
    too_late.cancel()
    return ran


def test_a_worker_takes_up_what_a_dead_one_left_and_fetches_jobs_when_they_are_due(database_url: str) -> None:
    """As soon as it starts; and a job that waits for another one of its action after that."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args, status, scheduled_at) VALUES "
            "('turns', 'turn', 'a', '{\"action\": \"dead\"}', 'doing', NULL), "
            "('turns', 'turn', 'b', '{\"action\": \"first\"}', 'todo', NULL), "
            "('turns', 'turn', 'b', '{\"action\": \"second\"}', 'todo', NULL), "
            "('turns', 'turn', NULL, '{\"action\": \"later\"}', 'todo', now() + interval '1 s')"
        )
    ran = ran_by_a_worker_without_heartbeats(database_url, 4)
    assert sorted(ran) == ["dead", "first", "later", "second"]
    assert ran.index("first") < min(ran.index("second"), ran.index("later"))


def test_a_frozen_worker_is_buried_and_sees_it_when_it_wakes_up(database_url: str) -> None:
    async def scene(place: Place) -> None:
        survivor, _ = await place.worker(stalled=0.0)
        frozen, _ = await place.worker()
        assert await survivor.beat() == []  # the first time that it sees this heartbeat
        assert len(await place.sql("SELECT id FROM procrastinate_workers")) == 2
        await survivor.beat()

        with pytest.raises(BuriedError, match="other workers have taken over"):
            await frozen.beat()

    play(database_url, scene)


def test_a_job_of_a_living_worker_that_it_does_not_run_is_taken_up(database_url: str) -> None:
    """A restored dump has its row in the state of that time; jobs that it runs or is fetching are left alone."""

    async def scene(place: Place) -> None:
        worker, name = await place.worker()
        await place.job()
        await worker.beat()
        running = await worker.fetch_job(["turns"], name)
        assert running is not None
        insert = "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, worker_id) VALUES"
        ((restored,),) = await place.sql(f"{insert} ('turns', 'turn', 'b', 'doing', {name}) RETURNING id")
        assert await worker.beat() == []  # it might be one that is ending
        assert await worker.beat() == [(restored, "b")]
        assert await place.sql("SELECT status::text, lock, worker_id FROM procrastinate_jobs ORDER BY id") == [
            ("doing", "a", name),
            ("todo", "b", None),
        ]
        again = await worker.fetch_job(["turns"], name)
        assert again is not None
        assert [await worker.beat() for _ in range(3)] == [[], [], []]
        await worker.finish_job(again, Status.SUCCEEDED, delete_job=True)
        await worker.retry_job(running)
        await worker.beat()
        assert await worker.fetch_job(["turns"], name) is not None

    play(database_url, scene)


def test_a_job_that_is_being_fetched_is_not_taken_up(database_url: str) -> None:
    async def scene(place: Place) -> None:
        worker, name = await place.worker()
        await place.job()
        await worker.beat()
        arrives, query = asyncio.Event(), worker.connector.execute_query_one_async

        async def slow(**asked: Any) -> dict[str, Any]:
            answer = await query(**asked)
            await arrives.wait()
            return answer

        worker.connector.execute_query_one_async = slow  # type: ignore[method-assign]
        fetch = asyncio.ensure_future(worker.fetch_job(["turns"], name))
        while not await place.sql("SELECT 1 FROM procrastinate_jobs WHERE status = 'doing'"):
            await asyncio.sleep(0.01)
        assert [await worker.beat() for _ in range(3)] == [[], [], []]
        arrives.set()
        assert await fetch is not None

    play(database_url, scene)


def test_a_worker_does_not_wait_for_a_frozen_database(database_url: str) -> None:
    with cuttable(database_url) as line:

        async def scene(place: Place) -> None:
            worker, _ = await place.worker()
            ended: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
            line.hang()
            with ended_without_answer(ended.set_result, 0.1):
                beat = asyncio.ensure_future(worker.beat())
                assert str(await ended) == "no answer for 0.1 s"
            line.cut()
            with pytest.raises(psycopg.OperationalError):
                await beat

        play(line.url, scene)


def test_a_clock_that_is_set_kills_no_worker(database_url: str) -> None:
    async def scene(place: Place) -> None:
        workers = [(await place.worker(stalled=10.0))[0] for _ in range(2)]
        for step in ("0", "1 hour", "-2 hours"):
            await place.sql(f"UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat + interval '{step}'")
            for worker in workers:
                await worker.beat()
        assert len(await place.sql("SELECT id FROM procrastinate_workers")) == 2

    play(database_url, scene)


def test_while_nothing_is_due_the_queue_is_not_asked(database_url: str) -> None:
    async def scene(place: Place) -> None:
        worker, name = await place.worker()
        await worker.beat()
        await place.job()
        assert await worker.fetch_job(["turns"], name) is None
        await worker.beat()
        assert await worker.fetch_job(["turns"], name) is not None

    play(database_url, scene)


def test_a_worker_that_stops_leaves_nothing(database_url: str) -> None:
    async def scene(place: Place) -> None:
        worker, name = await place.worker()
        await worker.unregister_worker(name)
        assert await worker.beat() == []
        assert await place.sql("SELECT id FROM procrastinate_workers") == []
        # The server releases the lock when it notices the closed connection. Other databases have locks of their own.
        here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        while await place.sql(f"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND {here}"):
            pass

    play(database_url, scene)
