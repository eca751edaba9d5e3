"""Instants of the tests of steps, in seconds after one moment."""

from datetime import UTC, datetime, timedelta

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)
"""The smallest difference between two instants."""


def at(seconds: float) -> datetime:
    """Return the instant this many seconds after T0."""
    return T0 + timedelta(seconds=seconds)
