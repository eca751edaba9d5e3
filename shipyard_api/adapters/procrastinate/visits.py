"""Visits to the databases of many sites: each is asked over a connection of its own that lasts for the question."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg

AT_ONCE = 16
"""Visits at the same time."""

_LONGEST = 5.0  # seconds; a silent database ends no other visit


@dataclass(frozen=True, slots=True)
class Question:
    """``conninfo``: of the database. ``sql`` returns one truth value, with ``parameters``."""

    conninfo: str
    sql: str
    parameters: Mapping[str, object]


Answer = bool | str
"""The answer, or why there is none."""


def ask(questions: Mapping[str, Question]) -> dict[str, Answer]:
    """Return the answer of each database, a few at a time. Leaves no thread behind: the process may fork afterwards."""
    return asyncio.run(_ask(questions))


async def _ask(questions: Mapping[str, Question]) -> dict[str, Answer]:
    room = asyncio.Semaphore(AT_ONCE)

    async def visit(question: Question) -> Answer:
        async with room:
            try:
                async with asyncio.timeout(_LONGEST):
                    return await _answer(question)
            except TimeoutError:
                return f"no answer within {_LONGEST:g} s"
            except psycopg.Error as error:
                return str(error).strip().partition("\n")[0] or type(error).__name__

    answers = await asyncio.gather(*map(visit, questions.values()))
    return dict(zip(questions, answers, strict=True))


async def _answer(question: Question) -> bool:
    connection = await psycopg.AsyncConnection.connect(question.conninfo, autocommit=True)
    try:
        row = await (await connection.execute(question.sql.encode(), question.parameters)).fetchone()
        return bool(row and row[0])
    finally:
        await connection.close()
