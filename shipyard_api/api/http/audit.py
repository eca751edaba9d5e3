"""The audit log: one line for each changing request, whatever its outcome.

Caller, request, time and address. Never a body, and only the headers named here.
"""

import logging
from time import perf_counter
from typing import Any

import falcon

from shipyard_api.api.http.limits import WRITES
from shipyard_api.api.http.request_context import created_action
from shipyard_api.observing.logs import AUDIT, shortened, shortened_query

LOG = logging.getLogger(AUDIT)

# Callers choose the length; more than this has no use.
_LONGEST = 1000


class Audit:
    """Middleware; the first, so that it hears of the answer last."""

    async def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Start the clock."""
        req.context.began = perf_counter()

    async def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, _resource: object, params: Any
    ) -> None:
        """Keep what the address names."""
        req.context.named = dict(params)

    async def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Write the line, if the method is one that changes something."""
        if req.method in WRITES:
            self.write(req, falcon.http_status_to_code(resp.status))

    @staticmethod
    def write(req: falcon.Request, status: int) -> None:
        """Write the line of a request, also of one whose caller has left before its answer."""
        context = req.context
        named: dict[str, str] = dict(getattr(context, "named", {}))
        created = created_action(req)
        identity = getattr(context, "identity", None)
        who = (
            {"user": identity.user, "key": identity.key, "roles": sorted(identity.roles)}
            if identity
            else {"user": None, "key": None, "roles": []}
        )
        LOG.info(
            "write",
            extra={
                **{name: _bounded(value) for name, value in who.items()},
                "method": req.method,
                "path": _bounded(req.path),
                "query": shortened_query(req.query_string, _LONGEST),
                "status": status,
                "action": _bounded(named.get("action_id", created)),
                "created_action": created,
                "collection": _bounded(named.get("collection_id")),
                "address": req.remote_addr,
                "forwarded_for_claimed": _bounded(req.get_header("X-Forwarded-For")),
                "request": getattr(context, "request_id", None),
                "context_marker": getattr(context, "marker", None),
                "seconds": round(perf_counter() - getattr(context, "began", perf_counter()), 6),
            },
        )


def _bounded(value: Any) -> Any:
    return shortened(value, _LONGEST) if isinstance(value, str) else value
