"""The caller of a request, and how often each may write, across all API processes."""

from msgspec import Struct

from shipyard_api.domain.errors import TooManyRequests
from shipyard_api.storage.unit_of_work import Store


class Caller(Struct, frozen=True):
    """The person or program behind a request.

    ``context_marker``: the caller's, or the request's id if none was sent. ``key``: unique to the caller, unlike
    ``user``.
    """

    user: str
    roles: frozenset[str]
    context_marker: str
    key: str = ""


class LimitWrites(Struct, frozen=True):
    """The use case. A caller may write ``burst`` times at once, and ``per_minute`` times a minute in the long run.

    A write that costs little is counted as a part of one.

    ``per_minute`` 0 means no limit.
    """

    store: Store
    per_minute: int
    burst: int

    def __call__(self, caller: str, cost: float = 1.0) -> None:
        """Count a write of a caller, identified by its unique key; raises TooManyRequests without counting.

        ``cost``: above 0, at most 1.
        The write counts even if the request fails later.
        """
        if not self.per_minute:
            return
        interval = 60 * cost / self.per_minute
        with self.store.begin() as tx:
            pause = tx.write_limits.take(caller, interval=interval, burst=self.burst / cost)
        if pause is not None:
            raise TooManyRequests(pause)
