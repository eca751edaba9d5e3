"""Plan the deployment of a pulled design, and start it once another person has approved the plan."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.update_site import UPDATE_SITE
from shipyard_api.domain.documents import Version
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.plans.errors import PlanDiffers
from shipyard_api.domain.plans.plan import PlanId
from shipyard_api.domain.pulls import Pull, Stage
from shipyard_api.ports.documents import DesignStore
from shipyard_api.usecases.actions.agreed_plan import Agreement
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.plan import Plan, PlanAction
from shipyard_api.usecases.actions.request import ActionRequest, Idempotency
from shipyard_api.usecases.actions.stored_plans import StoredPlans
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.usecases.configdocs.versions import read_versions


@dataclass(frozen=True, slots=True)
class DeployPulled:
    """The use cases. ``shown``: returns what the approvers of a plan read.

    A site is deployed until a site action has succeeded, and updated from then on.
    """

    designs: DesignStore
    plan_action: PlanAction
    plans: StoredPlans
    create: CreateAction
    caller: Caller
    shown: Callable[[Plan], JsonObject]

    def plan(self, pull: Pull) -> Pull:
        """Return the pull with a stored plan; the same one if its revision was deployed before."""
        versions = read_versions(self.designs)
        if versions.committed != pull.revision or versions.successful_site_action == versions.committed:
            return pull
        action = UPDATE_SITE if versions.successful_site_action else DEPLOY_SITE
        body: dict[str, Any] = {"name": action.name, "parameters": {}}
        plan = self.plan_action(ActionRequest(action.name, {}, None), Version.COMMITTED, complete=True)
        stored = self.plans.store_plan(plan, body, self.shown(plan), self.caller).plan
        text = f"commit {pull.commit[:12]} is committed as revision {pull.revision}: approve plan {stored.id}"
        return replace(pull, stage=Stage.PLANNED, plan=stored.id, text=text, trouble=None)

    def start(self, pull: Pull) -> Pull:
        """Return the pull with the action that was started from its plan; the same one before its approval."""
        stored = self.plans.one(pull.plan or PlanId("")).plan
        action = stored.action
        if action is None:
            if not stored.signed_for(self.caller.user, self.caller.key):
                return pull
            agreement = Agreement(stored.id, needs_approval=True)
            once = Idempotency(stored.id, stored.request)
            request = ActionRequest(
                stored.name, stored.request["parameters"], None, idempotency=once, agreement=agreement
            )
            try:
                action = self.create(request, self.caller).action.id
            except Conflict as refusal:
                if refusal.kind is not PlanDiffers:
                    raise
                return self.plan(pull)
        text = f"commit {pull.commit[:12]} is deployed by {stored.name} {action}"
        return replace(pull, stage=Stage.STARTED, action=action, text=text, trouble=None)
