"""Moments as clients read them."""

from datetime import UTC, datetime


def zulu(moment: datetime | None) -> str | None:
    """Return a moment in the form of ISO 8601 that clients of the engine know, ``2026-11-21T01:23:55.745506Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


def with_offset(moment: datetime) -> str:
    """Return a moment in the form of the database, ``2026-11-21 01:23:55.745506+00:00``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
