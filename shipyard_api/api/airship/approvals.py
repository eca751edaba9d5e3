"""The approvals that an action waits for between its waves. Shipyard v1.0 has no such resource."""

from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.reading import parse_json, threaded_json
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.policy import WITHOUT_APPROVAL
from shipyard_api.usecases.actions.approve import Approvals, ApproveAction


class ActionApprovals:
    """``/actions/{action_id}/approvals``."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_action",
        "POST": "workflow_orchestrator:approve_action",
    }

    def __init__(self, approve: ApproveAction, limit: int) -> None:
        self._approve = approve
        self.limit = limit

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the gates that wait for a person, and with the answers so far."""
        resp.media = _entity(self._approve.of(action_id))

    @threaded_json
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes, action_id: str) -> None:
        """Store the answer to a gate, and return the remaining gates."""
        written = parse_json(req.path, sent)
        resp.media = _entity(
            self._approve.answer(action_id, written, req.context.caller, may_alone=may(req, WITHOUT_APPROVAL))
        )


def _entity(approvals: Approvals) -> JsonObject:
    return {
        "waiting": [gate.to_json() for gate in approvals.waiting],
        "given": [approval.to_json() for approval in approvals.given],
    }
