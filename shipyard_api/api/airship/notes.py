"""Notes, and what they lead to (contract: shipyard-rest, chapter 8)."""

from collections.abc import Iterable
from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship.errors import DetailsUnavailable, InvalidNoteId
from shipyard_api.api.airship.times import with_offset
from shipyard_api.api.http.authentication import Policy, require
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.notes import LENGTH, Note
from shipyard_api.ports.errors import PeerError
from shipyard_api.usecases.journal.notes import ReadNotes


class NoteDetails:
    """``/notedetails/{note_id}``: what a note leads to."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_notedetails"}

    def __init__(self, notes: ReadNotes) -> None:
        self._notes = notes

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, note_id: str) -> None:
        """Answer with the text that the provisioner keeps. Takes the rule of the action or the step as well."""
        if len(note_id) != LENGTH:
            raise InvalidNoteId(note_id)
        note = self._notes.one(note_id)
        require(req, f"workflow_orchestrator:{'get_action_step' if note.step else 'get_action'}")
        try:
            resp.text = self._notes.details(note)
        except PeerError as error:
            raise DetailsUnavailable(note_id) from error


def shown(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Return notes as clients read them, in the order in which they are given."""
    return [
        {
            "note_id": note.id,
            "assoc_id": note.assoc_id,
            "subject": note.subject,
            "sub_type": note.sub_type,
            "note_val": note.text,
            "verbosity": note.verbosity,
            "note_timestamp": with_offset(note.at),
            "resolved_url_value": f"Details at notedetails/{note.id}" if note.link else None,
        }
        for note in notes
    ]
