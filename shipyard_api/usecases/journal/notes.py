"""Read the notes of actions and their steps, and the details that they link to (contract: shipyard-rest, chapter 8)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.errors import NoteNotFound, NoteWithoutDetails
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.notes import MOST, SUMMARY, Link, Linked, Note, creation, entry_of, kinds, notes
from shipyard_api.ports.links import Links
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.report import Places


class ReadNotes(Struct, frozen=True):
    """The use case; changes nothing. ``links`` fetches addresses that ``places`` makes, and no others.

    Notes are in order of time. A note that links to something the provisioner does not show is left out.
    """

    store: Store
    places: Places
    links: Links | None

    def of_actions(self, actions: Sequence[ActionRecord], verbosity: int) -> Mapping[ActionId, Sequence[Note]]:
        """Return the notes on the actions themselves, without their steps, up to a verbosity, in one query."""
        if not verbosity:
            return {action.id: () for action in actions}
        noted = self.store.read(lambda tx: tx.journal.action_notes([action.id for action in actions]))
        by_action: defaultdict[ActionId, list[JournalEntry]] = defaultdict(list)
        for action, entry in noted:
            by_action[action].append(entry)
        return {action.id: self._notes(action, by_action.get(action.id, ()), verbosity) for action in actions}

    def of_action(self, action: ActionRecord, journal: Iterable[JournalEntry], verbosity: int) -> Sequence[Note]:
        """Return the notes, up to a verbosity, of journal entries of an action; at most a summary of its steps."""
        return self._notes(action, journal, min(verbosity, SUMMARY)) if verbosity else ()

    def of_step(self, action: ActionRecord, step: StepId, verbosity: int) -> Sequence[Note]:
        """Return the notes on a step, up to a verbosity."""
        if not verbosity:
            return ()
        journal = self.store.read(lambda tx: tx.journal.entries(action.id, kinds(verbosity)))
        return [note for note in self._notes(action, journal, verbosity) if note.step == step]

    def one(self, note: str) -> Note:
        """Return a note by its id; raises NotFound."""
        for stored in self._with_key(note):
            if stored.id == note:
                return stored
        raise NoteNotFound(note)

    def details(self, note: Note) -> str:
        """Return the details that a note links to; raises NotFound if it links to none, and the errors of the port."""
        address = self._address(note.link) if note.link else None
        if address is None or self.links is None:
            raise NoteWithoutDetails(note.id)
        return self.links.fetch(address)

    def _with_key(self, note: str) -> Sequence[Note]:
        """Return the notes of the one row that the id names; the rest of the id may still be wrong."""
        key = entry_of(note)
        entries: list[JournalEntry] = []
        with self.store.begin() as tx:
            action = tx.actions.get(ActionId(note))
            entry = tx.journal.entry(key) if action is None and key is not None else None
            if entry is not None:
                action = tx.actions.get(entry[0])
                entries.append(entry[1])
        return self._notes(action, entries) if action else ()

    def _notes(self, action: ActionRecord, journal: Iterable[JournalEntry], verbosity: int = MOST) -> Sequence[Note]:
        written = notes(action.id, action.name, journal, verbosity)
        notes_made = [
            creation(action.id, action.revision, action.created_at),
            *(note for note in written if not note.link or self._address(note.link)),
        ]
        # Entries of one transaction have one time: the sort keeps their order, and the creation comes first.
        return sorted(notes_made, key=lambda note: note.at)

    def _address(self, link: Link) -> str | None:
        return (self.places.job if link.what is Linked.JOB else self.places.node)(link.name)
