"""The errors of requests about stored plans: a row for each, with its sentence.

What a person may not do for lack of a second one is a conflict: the command line shows no reason of a 403.
"""

from collections.abc import Sequence

from shipyard_api.domain.error_kinds import NAMED, Conflict, ErrorKind, NotFound, Text
from shipyard_api.domain.findings import Finding, messages_in_short


def _differs(plan: str, findings: Sequence[Finding]) -> Text:
    differences = messages_in_short(findings, NAMED)
    reason = f"The action would not do what plan {plan} says: {differences} Store a new plan."
    return Text(reason, findings=findings)


PlanNotFound = ErrorKind(NotFound, "PlanNotFound", "Plan not found", lambda plan: f"There is no stored plan {plan}")
PlanNeeded = ErrorKind(
    Conflict,
    "PlanNeeded",
    "Another person must approve what you start",
    lambda: (
        "Store a plan with `shipyard plan NAME --store`, let another person run `shipyard approve plan/ID`, and start "
        "the action with --plan ID (plan=ID in the query)."
    ),
)
PlanNotApproved = ErrorKind(
    Conflict,
    "PlanNotApproved",
    "The plan is not approved",
    lambda plan: (
        f"Another person than the one who starts the action must approve plan {plan}: `shipyard approve plan/{plan}`"
    ),
)
OwnPlan = ErrorKind(
    Conflict,
    "OwnPlan",
    "Another person must approve the plan",
    lambda plan: f"You have stored plan {plan}, so your approval does not count.",
)
OwnWave = ErrorKind(
    Conflict,
    "OwnWave",
    "Another person must approve this wave",
    lambda action: f"You have started action {action}, so your approval does not count. You may refuse what follows.",
)
HashNotOfPlan = ErrorKind(
    Conflict,
    "HashNotOfPlan",
    "The hash is not that of the plan",
    lambda plan, digest: f"Plan {plan} has the hash {digest}. Read it again, and approve what you read.",
)
PlanDiffers = ErrorKind(Conflict, "PlanDiffers", "The plan no longer holds", _differs)
PlanUsed = ErrorKind(
    Conflict,
    "PlanUsed",
    "Plan used before",
    lambda plan, action: f"Action {action} was started from plan {plan}. A plan starts one action: store a new one.",
)
