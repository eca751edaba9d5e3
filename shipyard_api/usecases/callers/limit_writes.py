"""Let nobody write more often than the site's operators allow, whichever process they ask."""

from dataclasses import dataclass

from shipyard_api.domain.errors import TooManyRequests
from shipyard_api.ports.state.store import Store


@dataclass(frozen=True, slots=True)
class LimitWrites:
    """The use case. A caller may write ``burst`` times at once, and ``per_minute`` times a minute in the long run; with
    ``per_minute`` 0 as often as they like, and then nobody is counted.
    """

    store: Store
    per_minute: int
    burst: int

    def __call__(self, caller: str) -> None:
        """Count one write of a caller, by the unique key of their identity; raises TooManyRequests, counting nothing.

        What is counted stays counted, whatever becomes of the request.
        """
        if not self.per_minute:
            return
        interval = 60 / self.per_minute
        with self.store.begin() as tx:
            pause = tx.write_limits.take(caller, interval=interval, burst=self.burst)
        if pause is not None:
            raise TooManyRequests(pause)
