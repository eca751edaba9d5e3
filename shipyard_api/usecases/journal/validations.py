"""Read the findings about the design of an action as validations (contract: shipyard-rest, 6.6).

A validation, like a note, is a view of a journal entry, and its id holds the id of the entry.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound, ValidationNotFound
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.findings import Level
from shipyard_api.domain.notes import entry_of, note_id
from shipyard_api.storage.unit_of_work import Store

# Clients show every validation as a problem, so a finding for information is none.
_LEVELS = frozenset({Level.ERROR, Level.WARNING})


class Validation(Struct, frozen=True):
    """An error or a warning that was found when the action was created, or by one of its steps."""

    id: str
    action: ActionId
    name: str
    details: str


class ReadValidations(Struct, frozen=True):
    """The use case; changes nothing."""

    store: Store

    def one(self, action: str, validation: str) -> Validation:
        """Return a validation by its own id, of any action, as upstream does; raises NotFound."""
        key = entry_of(validation)
        with self.store.begin() as tx:
            if tx.actions.get(ActionId(action)) is None:
                raise ActionNotFound(action)
            entry = tx.journal.entry(key) if key is not None else None
        entry_validation = _validation(*entry) if entry is not None else None
        if entry_validation is None or entry_validation.id != validation:
            raise ValidationNotFound(validation)
        return entry_validation


def validations(action: ActionId, journal: Iterable[JournalEntry]) -> Sequence[Validation]:
    """Return the validations among journal entries of an action, in their order."""
    return [validation for entry in journal if (validation := _validation(action, entry)) is not None]


def _validation(action: ActionId, entry: JournalEntry) -> Validation | None:
    """Return the validation that an entry holds, if it holds one."""
    match entry.fact:
        case FindingReported(finding) if finding.level in _LEVELS:
            return Validation(note_id(entry.at, entry.id, 0), action, finding.name, finding.message)
    return None
