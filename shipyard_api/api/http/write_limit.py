"""The limit on a caller's writes: applied after authorization and before the body is read."""

import falcon

from shipyard_api.api.http.methods import WRITES
from shipyard_api.api.http.threads import in_thread
from shipyard_api.usecases.callers.limit_writes import LimitWrites


class WriteLimit:
    """Middleware, after the one that identifies callers. Rejected callers are not counted."""

    def __init__(self, limit: LimitWrites) -> None:
        self._limit = limit

    async def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, _resource: object, _params: object
    ) -> None:
        """Count a write, or refuse it."""
        if req.method in WRITES and (identity := getattr(req.context, "identity", None)) is not None:
            await in_thread(self._limit, identity.key)
