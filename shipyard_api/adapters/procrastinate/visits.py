"""Visits to the databases of many sites: each is asked over a connection of its own that lasts for the question.

A process of their own makes them, so that the pool neither waits for a silent database nor needs threads.
"""

import asyncio
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import psycopg
from msgspec import Struct

_LONGEST = 5.0  # seconds


class Question(Struct, frozen=True):
    """``conninfo``: of the database. ``sql`` returns one truth value, with ``parameters``."""

    conninfo: str
    sql: str
    parameters: Mapping[str, object]


Answer = bool | str
"""The answer, or why there is none."""


def serve(connection: Connection) -> int:
    """Receive names with questions, visit each at once, and send each name with its answer; until the other hangs up.

    Returns 0, the exit code of the process.
    """
    asyncio.run(_serve(connection))
    return 0


async def _serve(connection: Connection) -> None:
    loop, is_over = asyncio.get_running_loop(), asyncio.Event()
    visits: set[asyncio.Task[None]] = set()

    async def visit(name: str, question: Question) -> None:
        connection.send((name, await _answered(question)))

    def receive() -> None:
        try:
            name, question = connection.recv()
        except EOFError:
            loop.remove_reader(connection.fileno())
            is_over.set()
            return
        task = loop.create_task(visit(name, question))
        visits.add(task)
        task.add_done_callback(visits.discard)

    loop.add_reader(connection.fileno(), receive)
    await is_over.wait()


async def _answered(question: Question) -> Answer:
    try:
        async with asyncio.timeout(_LONGEST):
            return await _answer(question)
    except TimeoutError:
        return f"no answer within {_LONGEST:g} s"
    except psycopg.Error as error:
        return str(error).strip().partition("\n")[0] or type(error).__name__


async def _answer(question: Question) -> bool:
    connection = await psycopg.AsyncConnection.connect(question.conninfo, autocommit=True)
    try:
        row = await (await connection.execute(question.sql.encode(), question.parameters)).fetchone()
        return bool(row and row[0])
    finally:
        await connection.close()


NEVER = 1e9
"""Seconds, for what must never happen by the clock."""


class ListeningConnection(psycopg.AsyncConnection[Any]):
    """Sleeps until the server sends something.

    The driver's own looks up ten times a second, for the sake of Ctrl-C, which asyncio handles: a third of what an idle
    worker took.
    """

    async def wait(self, gen: Any, interval: float = NEVER, timeout: float | None = None) -> Any:
        """Run an exchange with the server to its end; the driver's hook. ``timeout``: seconds."""
        return await super().wait(gen, interval, timeout)
