"""Store plans, show them, and let people approve them (product, section 13)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from secrets import token_hex
from typing import NamedTuple

from msgspec import Struct

from shipyard_api.domain.errors import FirstStepFails, InvalidParameters
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.plans.errors import HashNotOfPlan, OwnPlan, PlanNotFound, PlanUsed
from shipyard_api.domain.plans.plan import PlanId, Signature, StoredPlan, check_signature
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.agreed_plan import current
from shipyard_api.usecases.actions.plan import Plan
from shipyard_api.usecases.actions.plan_content import content_of
from shipyard_api.usecases.callers import Caller

MOST = 100
"""A list has at most this many plans, the newest."""


class SeenPlan(NamedTuple):
    """A stored plan beside the last one of the same action before it; None without one."""

    plan: StoredPlan
    last: StoredPlan | None

    @property
    def differences(self) -> Sequence[str]:
        """How the plan differs from the last one, a sentence each."""
        return self.last.content.differences(self.plan.content) if self.last else ()


class StoredPlans(Struct, frozen=True):
    """The use cases. ``now``: the time of the site."""

    store: Store
    new_id: Callable[[], str]
    now: Callable[[], datetime]

    def store_plan(self, plan: Plan, request: JsonObject, shown: JsonObject, caller: Caller) -> SeenPlan:
        """Store a complete plan of an action or of a retry. ``request``: its body. ``shown``: what approvers read.

        Raises the refusal of a plan that has one. What would fail a first step now is shown and stored: the step's
        peers may answer otherwise when the action starts.
        """
        if plan.refusal and plan.refusal.kind is not FirstStepFails:
            raise plan.refusal
        content = content_of(plan)
        with self.store.begin() as tx:
            new_id = PlanId(self.new_id())
            last = tx.plans.before(new_id, plan.name)
            # Under the key of the last plan, a changed secret shows beside it.
            salt = (last.content.salt if last else "") or token_hex()
            content = current(tx, content, plan.held).keyed(salt)
            stored = StoredPlan(
                id=new_id,
                name=plan.name,
                digest=content.digest,
                content=content,
                request=request,
                shown=shown,
                stored_by=caller.user,
                key=caller.key,
                stored_at=self.now(),
            )
            tx.plans.insert(stored)
            return SeenPlan(stored, last)

    def newest(self) -> Sequence[StoredPlan]:
        """Return the newest plans, the newest first, without their content."""
        return self.store.read(lambda tx: tx.plans.newest(limit=MOST))

    def one(self, plan: str) -> SeenPlan:
        """Return a plan; raises PlanNotFound."""
        with self.store.begin() as tx:
            stored = _found(plan, tx.plans.get(PlanId(plan)))
            return SeenPlan(stored, tx.plans.before(stored.id, stored.name))

    def approve(self, plan: str, written: JsonObject, caller: Caller) -> SeenPlan:
        """Sign a plan that another person has stored. A second signature of the same person changes nothing.

        Raises InvalidParameters, PlanNotFound, OwnPlan, HashNotOfPlan and PlanUsed; then nothing is changed.
        """
        if faults := check_signature(written):
            raise InvalidParameters(faults)
        with self.store.begin() as tx:
            stored = _found(plan, tx.plans.get(PlanId(plan), lock=True))
            if Signature(stored.stored_by, stored.key, stored.stored_at).is_of(caller.user, caller.key):
                raise OwnPlan(plan)
            if written["hash"] != stored.digest:
                raise HashNotOfPlan(plan, stored.digest)
            if stored.action:
                raise PlanUsed(plan, stored.action)
            if not any(signed.is_of(caller.user, caller.key) for signed in stored.signatures):
                signature = Signature(caller.user, caller.key, self.now(), written.get("reason") or "")
                tx.plans.sign(stored.id, (*stored.signatures, signature))
        return self.one(plan)


def _found(plan: str, stored: StoredPlan | None) -> StoredPlan:
    if stored is None:
        raise PlanNotFound(plan)
    return stored
