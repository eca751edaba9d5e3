"""Stored plans and their approvals; ours, beside the contract."""

from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.entities.plans import LastPlan, StoredPlan
from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.reading import is_empty, parse_json, single, threaded_json
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.plans.plan import PlanId
from shipyard_api.domain.policy import WITHOUT_APPROVAL
from shipyard_api.usecases.actions.agreed_plan import Agreement
from shipyard_api.usecases.actions.stored_plans import SeenPlan, StoredPlans


class Plan:
    """``/plans/{plan_id}``: a stored plan."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_plan"}

    def __init__(self, plans: StoredPlans) -> None:
        self._plans = plans

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, plan_id: str) -> None:
        """Answer with the plan, its signatures, and its differences from the last one of the same action."""
        resp.media = stored_entity(self._plans.one(plan_id))


class PlanApprovals:
    """``/plans/{plan_id}/approvals``."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:approve_plan"}

    def __init__(self, plans: StoredPlans, limit: int) -> None:
        self._plans = plans
        self.limit = limit

    @threaded_json
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes, plan_id: str) -> None:
        """Sign a plan that another person has stored, and answer with it."""
        written = parse_json(req.path, sent)
        resp.media = stored_entity(self._plans.approve(plan_id, written, req.context.caller))


def agreement(req: falcon.Request) -> Agreement:
    """Return the plan that the query names, and whether a second person must have approved it."""
    if is_empty(req, "plan"):
        # Without this, an empty variable of a script would start an action that follows no plan.
        raise falcon.HTTPInvalidParam("The value is the id of a stored plan.", "plan")
    plan = single(req, "plan")
    return Agreement(PlanId(plan) if plan else None, not may(req, WITHOUT_APPROVAL))


def stored_entity(seen: SeenPlan) -> StoredPlan:
    """Return a stored plan with all of it."""
    return StoredPlan.of(seen.plan, last=seen.last and LastPlan(seen.last.id, list(seen.differences)))
