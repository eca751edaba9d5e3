"""How often a caller may write: asked once it is known that they may at all, and before their body is read."""

import falcon

from shipyard_api.api.http.methods import WRITES
from shipyard_api.api.http.threads import in_thread
from shipyard_api.usecases.callers.limit_writes import LimitWrites


class WriteLimit:
    """Middleware; stands behind the one that knows callers. Whoever is not known or not allowed is not counted."""

    def __init__(self, limit: LimitWrites) -> None:
        self._limit = limit

    async def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, _resource: object, _params: object
    ) -> None:
        """Count a write, or refuse it."""
        if req.method in WRITES and (identity := getattr(req.context, "identity", None)) is not None:
            await in_thread(self._limit, identity.key)
