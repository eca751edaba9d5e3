"""Retry an action, also from a stored plan (contract: shipyard-rest, 6.7; product, section 13)."""

from msgspec import Struct

from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.usecases.actions.agreed_plan import Agreement
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.plan import PlanAction
from shipyard_api.usecases.actions.plan_content import content_of
from shipyard_api.usecases.callers import Caller


class RetryAction(Struct, frozen=True):
    """The use case."""

    control: ControlAction
    plan: PlanAction

    def __call__(
        self, action_id: str, caller: Caller, agreement: Agreement, *, force: bool, may_override_holds: bool
    ) -> ActionRecord:
        """Return the new action: as ``ControlAction.retry``, and as ``by_plan`` raises for a plan."""
        agreement.check()
        old = self.control.action(action_id)
        inputs = self.control.inputs(old)
        run = inputs.software
        frozen = None if run is None else self.plan.freeze(old.name, old.revision, run)
        content = None
        if agreement.plan:
            plan = self.plan.of_retry(action_id, force=force, may_override_holds=may_override_holds, frozen=frozen)
            content = content_of(plan)
        return self.control.retry(
            action_id,
            caller,
            force=force,
            may_override_holds=may_override_holds,
            agreement=agreement,
            content=content,
            software=frozen.to_json() if frozen else None,
        )
