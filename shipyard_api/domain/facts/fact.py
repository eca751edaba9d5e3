"""The shape of a fact, its entry in the journal, and the value for a line that this release cannot read."""

from datetime import datetime
from typing import Any, ClassVar, Self

from msgspec import Struct, ValidationError, convert, to_builtins

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.stored import Number as Number

Malformed = ValidationError
"""A stored fact does not have the form of its kind and version."""


class Fact(Struct, frozen=True):
    """Something that happened to an action, as a value, whose stored form is that of its fields (ADR 0038).

    Journal lines are selected by ``kind``; ``version`` grows when the stored form of the kind changes. ``FIRST``: the
    keys that are written before the others, in this order.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    FIRST: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stored form, without its version. Lists may be tuples."""
        written: dict[str, Any] = to_builtins(self)
        return {key: written[key] for key in dict.fromkeys((*self.FIRST, *written))} if self.FIRST else written

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact from the stored form of any version so far; raises Malformed."""
        return convert(stored, cls)


class UnknownFact(Struct, frozen=True):
    """A journal line of another release, which has a kind, a version or a form that this one does not know.

    ``stored`` is any JSON value. Such a line is shown as it is stored, and never written.
    """

    kind: str
    stored: Any


JournalFact = Fact | UnknownFact
"""What a journal line holds."""


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
