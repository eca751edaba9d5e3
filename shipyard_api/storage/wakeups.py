"""Statements of the queue, executed in a transaction of ours."""

from functools import lru_cache

import sqlalchemy as sa

from shipyard_api.ports.wakeup import Statement

text = lru_cache(maxsize=64)(sa.text)
"""A wake-up has one of a few texts; each is parsed once."""


def queue(connection: sa.Connection, statement: Statement) -> None:
    """Execute a statement that queues wake-ups."""
    connection.execute(text(statement.sql), dict(statement.parameters))
