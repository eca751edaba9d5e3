"""Start an action from a stored plan, while it would do what the plan says (product, section 13)."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.findings import error
from shipyard_api.domain.holds import Hold, HoldClass
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.plans.errors import PlanDiffers, PlanNeeded, PlanNotApproved, PlanNotFound, PlanUsed
from shipyard_api.domain.plans.plan import PlanContent, PlanId
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage.unit_of_work import Transaction
from shipyard_api.usecases.callers import Caller


class Agreement(Struct, frozen=True):
    """The stored plan that a request names, None without one, and whether a second person must have approved it."""

    plan: PlanId | None = None
    needs_approval: bool = False

    def check(self) -> None:
        """Raise PlanNeeded if a second person must have approved a plan, and none is named."""
        if self.needs_approval and self.plan is None:
            raise PlanNeeded()


ALONE = Agreement()
"""No plan, and no approval is required."""


def current(tx: Transaction, content: PlanContent, holds: Sequence[Hold]) -> PlanContent:
    """Return the content with the statuses of its nodes, and the holds on them, at this moment.

    ``holds``: the active ones that forbid the action. Holds that only change the counted nodes are added.
    """
    names = content.nodes
    holds = [*holds, *(hold for hold in tx.holds.active(names) if hold.hold_class is HoldClass.NO_CRITERIA)]
    records = tx.nodes.latest(status=(), prefix="", names=names, after="", limit=len(names)) if names else ()
    return content.at({NodeName(record.node.name): record.node.status for record in records}, holds)


def by_plan(
    tx: Transaction,
    new: NewAction,
    agreement: Agreement,
    content: PlanContent | None,
    holds: Sequence[Hold],
    caller: Caller,
) -> NewAction:
    """Return the action with the plan that it is started from, which nothing else uses until the transaction ends.

    ``content``: what the action would do, None without a plan. Raises PlanNotFound, PlanUsed, PlanDiffers and
    PlanNotApproved.
    """
    if agreement.plan is None:
        return new
    if content is None:
        raise ValueError("a plan is compared with what the action would do")
    plan = tx.plans.get(agreement.plan, lock=True)
    if plan is None:
        raise PlanNotFound(agreement.plan)
    if plan.action:
        raise PlanUsed(plan.id, plan.action)
    now = current(tx, content, holds).keyed(plan.content.salt)
    if now.digest != plan.digest:
        raise PlanDiffers(plan.id, [error("PlanDiffers", text) for text in plan.content.differences(now)])
    if agreement.needs_approval and not plan.signed_for(caller.user, caller.key):
        raise PlanNotApproved(plan.id)
    return replace(new, plan=plan.id, facts=(*new.facts, Noted("Plan", str(plan))))
