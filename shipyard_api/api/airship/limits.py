"""The limits of one action, which may change while it runs. Shipyard v1.0 has no such resource."""

from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.reading import parse_json, threaded_json
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.policy import DELETE_BLOCKED
from shipyard_api.usecases.actions.limits import ActionLimits


class Limits:
    """``/actions/{action_id}/limits``."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_action",
        "PATCH": "workflow_orchestrator:set_action_limits",
    }

    def __init__(self, limits: ActionLimits, limit: int) -> None:
        self.limits = limits
        self.limit = limit

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the limits, by the names of their parameters."""
        resp.media = dict(self.limits.of(action_id).parameters())

    @threaded_json
    def on_patch(self, req: falcon.Request, resp: falcon.Response, sent: bytes, action_id: str) -> None:
        """Change the limits that are given, and answer with all."""
        written = parse_json(req.path, sent)
        may_delete = may(req, DELETE_BLOCKED)
        changed = self.limits.change(action_id, written, req.context.caller, may_delete=may_delete)
        resp.media = dict(changed.parameters())
