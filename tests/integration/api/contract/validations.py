"""Chapter 6.6: GET /actions/{action_id}/validations/{validation_id}. Nothing has ever written such a record."""

from tests.integration.api.contract.case import Case, Who, error
from tests.integration.api.contract.entities import DESCRIBED
from tests.integration.api.contract.states import UNKNOWN_ULID
from tests.integration.api.contract.texts import unknown_action

CASES = [
    Case(
        section="6.6",
        name="an action that there is not",
        ask=f"GET actions/{UNKNOWN_ULID}/validations/{UNKNOWN_ULID}",
        who=Who.VIEWER,
        code=404,
        answer=unknown_action(UNKNOWN_ULID),
    ),
    *(
        Case(
            section="6.6",
            name=f"a validation that there is not: {validation!r}",
            given="queued",
            ask=f"GET actions/$action/validations/{validation}",
            who=Who.VIEWER,
            code=404,
            answer=error(404, "Validation not found", f"Unknown validation {validation}"),
        )
        for validation in (UNKNOWN_ULID, "x", "")
    ),
    *(
        Case(
            section="6.6",
            name=f"the action without an id has no {what}",
            ask=f"GET actions//{what}/x",
            code=404,
            answer=unknown_action(""),
        )
        for what in ("validations", "steps")
    ),
    Case(
        section="6.5",
        name="an action lists none",
        given="queued",
        ask="GET actions/$action",
        who=Who.VIEWER,
        code=200,
        answer=DESCRIBED.but(validations=[]),
    ),
]
