"""The limits of one action, which may change while it runs. Shipyard v1.0 has no such resource."""

from functools import partial
from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.reading import parse_json, read_json_body
from shipyard_api.api.http.threads import answer_in_thread, threaded
from shipyard_api.domain.policy import DELETE_BLOCKED
from shipyard_api.usecases.actions.limits import ActionLimits


class Limits:
    """``/actions/{action_id}/limits``."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_action",
        "PATCH": "workflow_orchestrator:set_action_limits",
    }

    def __init__(self, limits: ActionLimits, limit: int) -> None:
        self._limits = limits
        self._limit = limit

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the limits, by the names of their parameters."""
        resp.media = dict(self._limits.of(action_id).parameters())

    async def on_patch(self, req: falcon.asgi.Request, resp: falcon.Response, action_id: str) -> None:
        """Change the limits that are given, and answer with all."""
        body = await read_json_body(req, self._limit)
        await answer_in_thread(resp, partial(self._patch, req, resp, body, action_id))

    def _patch(self, req: falcon.Request, resp: falcon.Response, sent: bytes, action_id: str) -> None:
        written = parse_json(req.path, sent)
        may_delete = may(req, DELETE_BLOCKED)
        changed = self._limits.change(action_id, written, req.context.caller, may_delete=may_delete)
        resp.media = dict(changed.parameters())
