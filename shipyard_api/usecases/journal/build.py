"""The use cases on the journal, built together."""

from msgspec import Struct

from shipyard_api.ports.links import Links
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.report import Places
from shipyard_api.usecases.journal.follow import FollowJournal
from shipyard_api.usecases.journal.logs import ReadLogs
from shipyard_api.usecases.journal.notes import ReadNotes
from shipyard_api.usecases.journal.validations import ReadValidations


class JournalUseCases(Struct, frozen=True):
    """What callers read of the journal."""

    notes: ReadNotes
    logs: ReadLogs
    validations: ReadValidations
    follow: FollowJournal


def build(store: Store, places: Places, links: Links | None) -> JournalUseCases:
    """Return the use cases. ``places``, ``links``: pages of the provisioner, and what fetches them; None: none."""
    return JournalUseCases(
        ReadNotes(store, places, links), ReadLogs(store), ReadValidations(store), FollowJournal(store)
    )
