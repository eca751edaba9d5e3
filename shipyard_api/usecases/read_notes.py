"""Read the notes of actions and their steps, and what they lead to (contract: shipyard-rest, chapter 8)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.errors import NoteNotFound, NoteWithoutDetails
from shipyard_api.domain.notes import MOST, SUMMARY, Line, Link, Linked, Note, creation, kinds, line_of, notes
from shipyard_api.ports.links import Links
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.journal import JournalEntry
from shipyard_api.ports.state.store import Store
from shipyard_api.usecases.actions.report import Places


@dataclass(frozen=True, slots=True)
class ReadNotes:
    """The use case; changes nothing. ``links`` follows what ``places`` makes, and nothing else.

    Notes are in order of time. One that would lead to a place that there is not, since the provisioner shows nothing,
    is no note.
    """

    store: Store
    places: Places
    links: Links | None

    def of_actions(self, actions: Sequence[ActionRecord], verbosity: int) -> Mapping[ActionId, Sequence[Note]]:
        """Return the notes on the actions themselves, without their steps, up to a verbosity; one question for all."""
        if not verbosity:
            return {action.id: () for action in actions}
        noted = self.store.read(lambda tx: tx.journal.action_notes([action.id for action in actions]))
        by_action: defaultdict[ActionId, list[JournalEntry]] = defaultdict(list)
        for action, entry in noted:
            by_action[action].append(entry)
        return {action.id: self._notes(action, by_action.get(action.id, ()), verbosity) for action in actions}

    def of_action(self, action: ActionRecord, verbosity: int) -> Sequence[Note]:
        """Return the notes on an action, up to a verbosity, and of those on its steps the summary."""
        return self._read(action, min(verbosity, SUMMARY))

    def of_step(self, action: ActionRecord, step: StepId, verbosity: int) -> Sequence[Note]:
        """Return the notes on a step, up to a verbosity."""
        return [note for note in self._read(action, verbosity) if note.step == step]

    def one(self, note: str) -> Note:
        """Return a note by its id; raises NotFound."""
        for found in self._with_key(note):
            if found.id == note:
                return found
        raise NoteNotFound(note)

    def details(self, note: Note) -> str:
        """Return what a note leads to; raises NotFound if that is nothing, and what the port of links raises."""
        address = self._address(note.link) if note.link else None
        if address is None or self.links is None:
            raise NoteWithoutDetails(note.id)
        return self.links.fetch(address)

    def _with_key(self, note: str) -> Sequence[Note]:
        """Return the notes of the one row that the id can be about, whatever else the id says."""
        line = line_of(note)
        entries: list[JournalEntry] = []
        with self.store.begin() as tx:
            action = tx.actions.get(ActionId(note))
            found = tx.journal.entry(line) if action is None and line is not None else None
            if found is not None:
                action = tx.actions.get(found[0])
                entries.append(found[1])
        return self._notes(action, entries) if action else ()

    def _read(self, action: ActionRecord, verbosity: int) -> Sequence[Note]:
        if not verbosity:
            return ()
        journal = self.store.read(lambda tx: tx.journal.entries(action.id, kinds(verbosity)))
        return self._notes(action, journal, verbosity)

    def _notes(self, action: ActionRecord, journal: Iterable[JournalEntry], verbosity: int = MOST) -> Sequence[Note]:
        lines = (Line(entry.id, entry.step, entry.kind, entry.at, entry.facts) for entry in journal)
        told = notes(action.id, action.name, lines, verbosity)
        found = [
            creation(action.id, action.revision, action.created_at),
            *(note for note in told if not note.link or self._address(note.link)),
        ]
        # Lines are in order already: what was written at once stays so, and the creation comes first.
        return sorted(found, key=lambda note: note.at)

    def _address(self, link: Link) -> str | None:
        return (self.places.job if link.what is Linked.JOB else self.places.node)(link.name)
