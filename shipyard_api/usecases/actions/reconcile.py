"""Ask an operator whose jobs are that an action may have begun (product, section 10: Postgres is our HA)."""

from collections.abc import Sequence

from msgspec import Struct

from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.errors import ActionNotFound, InvalidParameters
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.reconciliation import Doubt, JobAnswers, parse_answers, unanswered
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.check import lock_running
from shipyard_api.usecases.callers import Caller


class Reconciliation(Struct, frozen=True):
    """``doubts``: jobs without an answer; ``answers``: the answers so far."""

    doubts: Sequence[Doubt]
    answers: JobAnswers


class ReconcileAction(Struct, frozen=True):
    """The use cases."""

    store: Store

    def of(self, action_id: str) -> Reconciliation:
        """Return the questions and answers about an action; an ended action has no question. Raises ActionNotFound."""
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action_id))
            if record is None:
                raise ActionNotFound(action_id)
            doubts, answers = tx.actions.doubts(record.id)
            return Reconciliation([] if record.state in ENDED else unanswered(doubts, answers), answers)

    def answer(self, action_id: str, written: JsonObject, caller: Caller) -> Reconciliation:
        """Store the owners of some jobs, and return the remaining questions.

        A later answer about a job outweighs an earlier one. Raises InvalidParameters, also for a job that is not asked
        about, ActionNotFound and ActionOver; then nothing is changed.
        """
        action = ActionId(action_id)
        with self.store.begin() as tx:
            lock_running(tx, action)
            doubts, before = tx.actions.doubts(action)
            given, faults = parse_answers(written, doubts)
            if faults:
                raise InvalidParameters(faults)
            answers = before.with_later(given)
            if answers != before:
                tx.actions.answer_doubts(action, answers, caller.user, f"{caller.user} answered: {given}")
            return Reconciliation(unanswered(doubts, answers), answers)
