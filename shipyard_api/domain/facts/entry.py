"""Journal entries: facts with what the journal knows about each."""

from datetime import datetime

from msgspec import Struct

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.fact import JournalFact


class JournalEntry(Struct, frozen=True):
    """One fact about an action: which step recorded it, in which turn, when, and on which worker.

    ``id`` grows in the order in which entries are written; those of other actions may be committed out of order.
    """

    id: int
    epoch: int
    step: StepId | None
    at: datetime
    worker: str
    fact: JournalFact

    @property
    def kind(self) -> str:
        """The kind of the fact."""
        return self.fact.kind
