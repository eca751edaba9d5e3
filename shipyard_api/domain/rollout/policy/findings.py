"""What a rollout policy will do with an action, for who starts it: findings beside the action and its plan."""

from datetime import datetime

from shipyard_api.domain.findings import Finding, warning
from shipyard_api.domain.rollout.policy.budgets import Domain
from shipyard_api.domain.rollout.policy.reading import PATH, PolicyInputs


def closed_now(policy: PolicyInputs, now: datetime) -> Finding | None:
    """Return that no server begins now, because of the windows; None if one may, or if none ever will."""
    windows = policy.of_servers
    reason = windows.blocked(now) if windows else None
    if reason is None or reason.never:
        return None
    message = f"The action waits for a maintenance window before it begins with a server: {reason.why}."
    return warning("PolicyWindowClosed", message, path=f"{PATH}/windows")


def smaller_batches(budget: Domain, size: int, wanted: int) -> Finding:
    """Return that a budget makes batches smaller."""
    most = budget.unavailable
    message = f"The {budget} lets {most} server(s) be down together, so {size} target(s) go at a time, not {wanted}."
    return warning("PolicySmallerBatches", message, path=f"{PATH}/budgets")


def policy_passed(action: str) -> Finding:
    """Return that the action asks neither budgets nor windows."""
    message = f"{action} is forced: its servers begin although budgets or maintenance windows forbid it."
    return warning("PolicyPassed", message, path=PATH)


def policy_not_passed(action: str) -> Finding:
    """Return that the caller may not pass budgets and windows."""
    message = f"{action} keeps to budgets and maintenance windows: you may not pass them with force."
    return warning("PolicyNotPassed", message, path=PATH)
