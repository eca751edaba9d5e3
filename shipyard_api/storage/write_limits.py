"""How often somebody may write, counted where every process of every host sees it."""

import sqlalchemy as sa

# The generic cell rate algorithm, in one statement. `free_at` is when nothing of what a caller may write is used up any
# more: a write moves it on by one interval, and it may be at most `burst - 1` intervals ahead. The row's lock makes the
# writes of one caller take turns, and what is compared is read behind that lock, so however many arrive at once, no
# more get through. The clock is read behind it, too: `now()` would be when the transaction began.
_TAKE = sa.text("""
    WITH taken AS (
        INSERT INTO rate_limits AS own (caller, free_at)
        VALUES (:caller, clock_timestamp() + :interval * interval '1 s')
        ON CONFLICT (caller) DO UPDATE
            SET free_at = greatest(own.free_at, clock_timestamp()) + :interval * interval '1 s'
            WHERE own.free_at <= clock_timestamp() + :ahead * interval '1 s'
        RETURNING (xmax = 0) AS inserted
    )
    SELECT true AS taken, inserted, 0 AS pause FROM taken
    UNION ALL
    SELECT false, false, extract(epoch FROM free_at - clock_timestamp())::float - :ahead
    FROM rate_limits WHERE caller = :caller AND NOT EXISTS (SELECT FROM taken)
""")

# What is free says nothing any more. Rows are only added for new callers, so that is when old ones go; those that
# somebody has at hand right now are left for the next time.
_SWEEP = sa.text("""
    DELETE FROM rate_limits WHERE caller IN (
        SELECT caller FROM rate_limits WHERE free_at < clock_timestamp() - interval '1 day'
        LIMIT 1000 FOR UPDATE SKIP LOCKED
    )
""")


class SqlWriteLimits:
    """Fills ``ports.state.write_limits.WriteLimits``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def take(self, caller: str, *, interval: float, burst: int) -> float | None:
        """Count one write, by the clock of the database."""
        values = {"caller": caller, "interval": interval, "ahead": interval * (burst - 1)}
        row = self._connection.execute(_TAKE, values).one_or_none()
        if row is None:
            # Somebody else's first write was not visible yet when this statement began.
            return interval
        if row.inserted:
            self._connection.execute(_SWEEP)
        return None if row.taken else max(0.0, row.pause)
