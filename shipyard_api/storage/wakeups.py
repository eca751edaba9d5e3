"""Statements of the queue, executed in a transaction of ours."""

from functools import lru_cache

import sqlalchemy as sa

from shipyard_api.ports.wakeup import Statement
from shipyard_api.storage.batched_writes import BatchedWrites

_text = lru_cache(maxsize=64)(sa.text)
"""A wake-up has one of a few texts; each is parsed once."""


def queue(connection: sa.Connection, statement: Statement) -> None:
    """Execute a statement that queues wake-ups."""
    connection.execute(_text(statement.sql), dict(statement.parameters))


def gather(writes: BatchedWrites, statement: Statement) -> None:
    """Add such a statement to other writes."""
    writes.add(_text(statement.sql), statement.parameters)
