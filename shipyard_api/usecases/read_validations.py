"""Read what was found wrong in the design of an action, as the validations that clients know (shipyard-rest, 6.6).

A validation is a view of a line of the journal that holds a finding, as a note is, and found again in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound, ValidationNotFound
from shipyard_api.domain.findings import Level
from shipyard_api.domain.notes import line_of, note_id
from shipyard_api.ports.state.journal import JournalEntry
from shipyard_api.ports.state.store import Store

_FINDING = "finding"
# What is only good to know is no validation: clients show all of these as trouble.
_LEVELS = frozenset({Level.ERROR.value, Level.WARNING.value})


@dataclass(frozen=True, slots=True)
class Validation:
    """An error or a warning that an action was told when it was created, or that one of its steps has found."""

    id: str
    action: ActionId
    name: str
    details: str


@dataclass(frozen=True, slots=True)
class ReadValidations:
    """The use case; changes nothing."""

    store: Store

    def of_action(self, action: ActionId) -> Sequence[Validation]:
        """Return the validations of an action, in the order in which they were found."""
        journal = self.store.read(lambda tx: tx.journal.entries(action, (_FINDING,)))
        return [_validation(action, entry) for entry in journal if _counts(entry)]

    def one(self, action: str, validation: str) -> Validation:
        """Return a validation by its own id, whichever action it is about, as upstream does; raises NotFound."""
        line = line_of(validation)
        with self.store.begin() as tx:
            if tx.actions.get(ActionId(action)) is None:
                raise ActionNotFound(action)
            found = tx.journal.entry(line) if line is not None else None
        if found is not None and found[1].kind == _FINDING and _counts(found[1]):
            made = _validation(*found)
            if made.id == validation:
                return made
        raise ValidationNotFound(validation)


def _counts(entry: JournalEntry) -> bool:
    return entry.facts.get("level") in _LEVELS


def _validation(action: ActionId, entry: JournalEntry) -> Validation:
    name, message = str(entry.facts.get("name", "")), str(entry.facts.get("message", ""))
    return Validation(note_id(entry.at, entry.id, 0), action, name, message)
