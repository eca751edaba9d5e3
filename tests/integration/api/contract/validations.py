"""Chapter 6.6: GET /actions/{action_id}/validations/{validation_id}. Nothing has ever written such a record."""

from tests.integration.api.contract.case import Who, asked, error
from tests.integration.api.contract.entities import DESCRIBED
from tests.integration.api.contract.states import UNKNOWN_ULID
from tests.integration.api.contract.texts import unknown_action

CASES = [
    asked(
        "6.6",
        "an action that there is not",
        f"GET actions/{UNKNOWN_ULID}/validations/{UNKNOWN_ULID}",
        404,
        unknown_action(UNKNOWN_ULID),
        who=Who.VIEWER,
    ),
    *(
        asked(
            "6.6",
            f"a validation that there is not: {validation!r}",
            f"GET actions/$action/validations/{validation}",
            404,
            error(404, "Validation not found", f"Unknown validation {validation}"),
            given="queued",
            who=Who.VIEWER,
        )
        for validation in (UNKNOWN_ULID, "x", "")
    ),
    *(
        asked("6.6", f"the action without an id has no {what}", f"GET actions//{what}/x", 404, unknown_action(""))
        for what in ("validations", "steps")
    ),
    asked(
        "6.5",
        "an action lists none",
        "GET actions/$action",
        200,
        DESCRIBED.but(validations=[]),
        given="queued",
        who=Who.VIEWER,
    ),
]
