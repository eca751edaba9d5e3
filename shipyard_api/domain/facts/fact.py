"""The shape of a fact, and the value for a journal line that this release cannot read."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from shipyard_api.domain.json_types import JsonObject


class Fact(Protocol):
    """Something that happened to an action, as a value.

    Journal lines are selected by ``kind``; ``version`` grows when the stored form of the kind changes.
    """

    kind: ClassVar[str]
    version: ClassVar[int]

    def to_json(self) -> JsonObject:
        """Return the stored form, without its version."""

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact from the stored form of any version so far; raises Malformed."""


@dataclass(frozen=True, slots=True)
class UnknownFact:
    """A journal line of another release, which has a kind, a version or a form that this one does not know.

    ``stored`` is any JSON value. Such a line is shown as it is stored, and never written.
    """

    kind: str
    stored: Any


JournalFact = Fact | UnknownFact
"""What a journal line holds."""
