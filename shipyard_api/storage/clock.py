"""The database's clock, read once a minute and extrapolated with the host's monotonic clock.

All hosts of a site agree on the time this way, however their own clocks are set.
"""

import time
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from shipyard_api.storage.outages import outages

# Seconds after which the database's clock is read again.
_FRESH = 60.0


class DatabaseClock:
    """Fills ``ports.clock.Clock``."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._anchor: tuple[float, datetime] | None = None

    def now(self) -> datetime:
        """Return the database's time of day, in UTC; raises StoreUnavailable when it cannot be read."""
        anchor = self._anchor
        if anchor is None or time.monotonic() - anchor[0] > _FRESH:
            anchor = self._anchor = self._measure()
        return anchor[1] + timedelta(seconds=time.monotonic() - anchor[0])

    def monotonic(self) -> float:
        """Return seconds of this host's monotonic clock."""
        return time.monotonic()

    def _measure(self) -> tuple[float, datetime]:
        with outages(), self._engine.connect() as connection:
            moment: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return time.monotonic(), moment.astimezone(UTC)
