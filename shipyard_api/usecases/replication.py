"""Say in the log that a fail-over of the database may lose writes, whenever that changes."""

import logging
import time
from dataclasses import dataclass, field

from shipyard_api.storage.unit_of_work import Store

LOG = logging.getLogger(__name__)

_PAUSE = 60.0  # seconds; /health and `config check` look when they are asked


@dataclass(slots=True)
class WatchReplication:
    """The use case."""

    store: Store
    _said: str = field(default="", init=False)
    _next: float = field(default=0.0, init=False)

    def __call__(self) -> None:
        """Look once a minute; raises StoreUnavailable."""
        if time.monotonic() < self._next:
            return
        finding = self.store.read(lambda tx: tx.measures.replication()).finding
        if finding != self._said:
            self._said = finding
            if finding:
                LOG.warning("fail-over may lose writes", extra={"finding": finding})
            else:
                LOG.info("replication is synchronous, or there is no standby")
        self._next = time.monotonic() + _PAUSE
