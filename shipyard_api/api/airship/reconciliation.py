"""What an operator is asked after a loss of history. Shipyard v1.0 has no such resource."""

from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import parse_json, threaded_json
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.usecases.actions.reconcile import ReconcileAction, Reconciliation


class Reconciliations:
    """``/actions/{action_id}/reconciliation``."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_action",
        "PATCH": "workflow_orchestrator:reconcile_action",
    }

    def __init__(self, reconcile: ReconcileAction, limit: int) -> None:
        self._reconcile = reconcile
        self.limit = limit

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the jobs whose owner a person must say, and with the answers so far."""
        resp.media = _entity(self._reconcile.of(action_id))

    @threaded_json
    def on_patch(self, req: falcon.Request, resp: falcon.Response, sent: bytes, action_id: str) -> None:
        """Store the owners of the given jobs, and return the remaining questions."""
        written = parse_json(req.path, sent)
        resp.media = _entity(self._reconcile.answer(action_id, written, req.context.caller))


def _entity(reconciliation: Reconciliation) -> JsonObject:
    return {"held": [doubt.to_json() for doubt in reconciliation.doubts], "answers": reconciliation.answers.to_json()}
