"""Write limits per caller, counted in the database for all processes."""

import sqlalchemy as sa

# The generic cell rate algorithm in one statement. `free_at` is when the caller has its full burst again: a write moves
# it ahead by one interval, and it may be at most `burst - 1` intervals ahead. The row lock serializes the writes of one
# caller, and the comparison happens under that lock, so concurrent writes cannot exceed the limit. clock_timestamp()
# is read under the lock, too; now() would be the start of the transaction.
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

# Rows of idle callers are useless. A new caller's first write deletes them; locked ones wait for the next time.
_SWEEP = sa.text("""
    DELETE FROM rate_limits WHERE caller IN (
        SELECT caller FROM rate_limits WHERE free_at < clock_timestamp() - interval '1 day'
        LIMIT 1000 FOR UPDATE SKIP LOCKED
    )
""")


class WriteLimits:
    """Counts writes by caller."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def take(self, caller: str, *, interval: float, burst: float) -> float | None:
        """Count one write and return None, or return the seconds until one is allowed, without counting.

        One write is allowed every ``interval`` seconds, by the clock of the database; unused ones accumulate, up to
        ``burst``.
        """
        values = {"caller": caller, "interval": interval, "ahead": interval * (burst - 1)}
        row = self._connection.execute(_TAKE, values).one_or_none()
        if row is None:
            # A concurrent first write of this caller was not visible when the statement began.
            return interval
        if row.inserted:
            self._connection.execute(_SWEEP)
        return None if row.taken else max(0.0, row.pause)
