"""The one error of this package."""


class PostgresError(Exception):
    """PostgreSQL cannot be started, stopped or found. The text says what, where, and what to do."""
