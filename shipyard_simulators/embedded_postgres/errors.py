"""The one failure of this adapter."""


class PostgresError(Exception):
    """PostgreSQL cannot be started, stopped or found; the text says what, where and what to do about it."""
