"""Validations: what was found wrong in the design of an action (contract: shipyard-rest, 6.6)."""

from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.usecases.journal.validations import ReadValidations, Validation


class ActionValidation:
    """``/actions/{action_id}/validations/{validation_id}``: one validation."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action_validation"}

    def __init__(self, validations: ReadValidations) -> None:
        self._validations = validations

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str, validation_id: str) -> None:
        """Answer with the validation."""
        resp.media = entity(self._validations.one(action_id, validation_id))


def entity(validation: Validation) -> dict[str, str]:
    """Return a validation as it is shown everywhere."""
    return {
        "id": validation.id,
        "action_id": validation.action,
        "validation_name": validation.name,
        "details": validation.details,
    }
