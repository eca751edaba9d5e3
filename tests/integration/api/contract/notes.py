"""Chapter 8: GET /notedetails/{note_id}; notes themselves are shown by actions and steps."""

from typing import Any

from tests.integration.api.contract.case import Case, Raw, Who, error
from tests.integration.api.contract.entities import DESCRIBED, NOTE
from tests.integration.api.contract.matching import Among, Pattern
from tests.integration.api.contract.states import UNKNOWN_ULID
from tests.integration.api.contract.texts import FORBIDDEN

FAR_AWAY = "it cannot be accessed by Shipyard at this time"


def bad_id(note: str) -> dict[str, Any]:
    """400: the length is the only thing that is checked."""
    return error(
        400,
        "Notes ID values are 26 character ULID values",
        f"Invalid note_id: {note} in URL",
        kind="InvalidFormatError",
    )


def unknown(note: str) -> dict[str, Any]:
    """404: there is no such note."""
    return error(404, "No note found", f"Note {note} is not found")


def details(name: str, note: str, given: str = "noted", **rest: Any) -> Case:
    """A look at what a note leads to."""
    fields = {"section": "8", "name": name, "given": given, "ask": f"GET notedetails/{note}", "who": Who.VIEWER}
    return Case(**{**fields, **rest})


CASES = [
    details("what the note leads to, as it is", "$leading", code=200, answer=Raw(Pattern(".*no root device.*"))),
    details("an admin may read too", "$leading", who=Who.ADMIN, code=200, answer=Raw(Pattern(".*no root device.*"))),
    details("with a verbosity, as the client sends it", "$leading?verbosity=1", code=200, answer=Raw(Pattern(".+"))),
    details("a provisioner's token is not enough", "$leading", who=Who.PEER, code=403, answer=FORBIDDEN),
    details("who may not ask learns nothing of what there is", "x", who=Who.PEER, code=403, answer=FORBIDDEN),
    details(
        "a note that leads nowhere",
        "$leading_nowhere",
        code=404,
        answer=error(
            404,
            "No further note details are available",
            "Note $leading_nowhere has no additional information to return",
        ),
    ),
    details(
        "a note that leads to somebody who does not answer",
        "$leading",
        given="noted_lost",
        code=500,
        answer=error(
            500,
            "Unable to retrieve URL information for note",
            f"Note $leading has additional information, but {FAR_AWAY}",
        ),
    ),
    *(
        details(f"there is no note {note!r}", note, code=404, answer=unknown(note))
        for note in (UNKNOWN_ULID, "0" * 26, "z" * 26)
    ),
    *(
        details(f"an id of {len(note)} letters: {note[:30]}", note, given="empty", code=400, answer=bad_id(note))
        for note in ("x", UNKNOWN_ULID[:-1], UNKNOWN_ULID + "0", "1" * 300)
    ),
    Case(
        section="8",
        name="notes of an action are in order of time, what it works on first",
        given="noted",
        ask="GET actions/$action?verbosity=5",
        who=Who.VIEWER,
        code=200,
        answer=DESCRIBED.but(
            notes=Among(
                NOTE.but(
                    assoc_id="action/$action",
                    subject="$action",
                    sub_type="action metadata",
                    note_val="Configdoc revision $committed",
                    verbosity=1,
                    resolved_url_value=None,
                )
            )
        ),
    ),
]
