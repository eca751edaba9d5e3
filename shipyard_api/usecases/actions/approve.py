"""Let a person answer the gates between the waves of an action (product, section 13)."""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.approvals import Approval, WaveGate, choose
from shipyard_api.domain.errors import ActionNotFound, InvalidParameters
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.plans.errors import OwnWave
from shipyard_api.domain.plans.plan import same_name
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.check import lock_running
from shipyard_api.usecases.callers import Caller


class Approvals(Struct, frozen=True):
    """``waiting``: the gates without an answer; ``given``: the answers, the oldest first."""

    waiting: Sequence[WaveGate]
    given: Sequence[Approval]


class ApproveAction(Struct, frozen=True):
    """The use cases. ``now``: the time of the site."""

    store: Store
    now: Callable[[], datetime]

    def of(self, action_id: str) -> Approvals:
        """Return what an action waits for and what was answered; an ended action has no gate. Raises ActionNotFound."""
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action_id))
            if record is None:
                raise ActionNotFound(action_id)
            return approvals_of(tx, record)

    def answer(self, action_id: str, written: JsonObject, caller: Caller, *, may_alone: bool = True) -> Approvals:
        """Answer a gate, and return the remaining gates.

        ``may_alone``: the caller needs no second person for an action, so also none to let its next wave begin.
        Raises InvalidParameters, also for a gate that is not open, ActionNotFound, ActionOver and OwnWave; then nothing
        is changed.
        """
        action, now = ActionId(action_id), self.now()
        with self.store.begin() as tx:
            started_by = lock_running(tx, action).user
            gates, given = tx.actions.approvals(action)
            gate, faults = choose(written, _unanswered(gates, given))
            if gate is None:
                raise InvalidParameters(faults)
            if written["approve"] and not may_alone and same_name(caller.user, started_by):
                raise OwnWave(action)
            approval = Approval(gate, written["approve"], caller.user, now, written.get("reason") or "")
            after = (*given, approval)
            tx.actions.approve(action, after, caller.user, str(approval))
            return Approvals(_unanswered(gates, after), after)


def approvals_of(tx: Transaction, record: ActionRecord) -> Approvals:
    """Return the gates that the engine waits at, and the answers: what everybody shows, and what ``answer`` takes."""
    gates, given = tx.actions.approvals(record.id)
    return Approvals(() if record.state in ENDED else _unanswered(gates, given), given)


def _unanswered(gates: Sequence[WaveGate], given: Sequence[Approval]) -> Sequence[WaveGate]:
    answered = [approval.gate for approval in given]
    return [gate for gate in gates if gate not in answered]
