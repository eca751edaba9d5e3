"""The limit on a caller's writes: applied after authorization and before the body is read."""

from collections.abc import Callable
from typing import Any

import falcon

from shipyard_api.api.http.threads import in_thread
from shipyard_api.usecases.callers import LimitWrites

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""The methods that change something, and so are counted and leave a line in the audit log."""
SMALL_WRITE = 0.05
"""The ``write_cost`` of a resource that changes a row or two. Scripts call it once for each node or template."""
NO_WRITE = 0.0
"""The ``write_cost`` of a resource that changes nothing, whatever its method. A function of the request may decide."""
_USUAL = 1.0
# A write of this many bytes costs as much as a usual one, however little it changes.
_BYTES = 256 * 1024


class WriteLimit:
    """Middleware, after the one that identifies callers. Rejected callers are not counted."""

    def __init__(self, limit: LimitWrites) -> None:
        self._limit = limit

    async def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, resource: object, _params: Any
    ) -> None:
        """Count a write, or refuse it."""
        if req.method not in WRITES or (identity := getattr(req.context, "identity", None)) is None:
            return
        stated: float | Callable[[falcon.Request], float] = getattr(resource, "write_cost", _USUAL)
        cost = stated(req) if callable(stated) else stated
        if cost:
            size = (req.content_length or 0) / _BYTES
            await in_thread(self._limit, identity.key, min(_USUAL, cost + size))
