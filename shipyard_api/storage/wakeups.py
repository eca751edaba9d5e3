"""Waking workers: whether a site needs one, and statements of the queue in a transaction of ours."""

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


ATTENTION = """
SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))
OR EXISTS (SELECT FROM actions WHERE state NOT IN ('success', 'failed'))
OR EXISTS (SELECT FROM stragglers WHERE ended_at IS NULL)
OR EXISTS (SELECT FROM sighted_actions WHERE done_at IS NULL)
OR EXISTS (SELECT FROM webhooks WHERE name = ANY(%(webhooks)s) AND cursor < (SELECT max(id) FROM journal))
"""
"""The query. ``webhooks``: the names of the targets in the site's settings."""
