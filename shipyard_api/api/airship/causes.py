"""The cause of an error and what to do, where the contract's sentence lacks it: the entry of `messageList`."""

from collections.abc import Collection
from difflib import get_close_matches

from shipyard_api.domain.actions import Control
from shipyard_api.domain.documents import Version

# As many characters of what a caller wrote are repeated and compared.
_QUOTED = 60
_LONGEST_PATH = 200

NOTHING_COMMITTED = "Nothing is committed yet. Load documents, then commit them: shipyard commit configdocs"
NO_CREDENTIALS = "No token was sent. Send one in the header X-Auth-Token"
UNKNOWN_CREDENTIALS = "The token that was sent is not valid: it is unknown, expired or revoked"

NO_VERSION = {
    Version.BUFFER: "The buffer is empty. Load documents, or ask for version=committed",
    Version.COMMITTED: NOTHING_COMMITTED,
    Version.LAST_SITE_ACTION: "No site action has ended yet",
    Version.SUCCESSFUL_SITE_ACTION: "No site action has succeeded yet",
}
_DONE = {
    Control.PAUSE: "paused",
    Control.UNPAUSE: "unpaused",
    Control.STOP: "stopped",
    Control.RETRY: "retried",
    Control.ACKNOWLEDGE: "acknowledged",
}
_ALSO = dict.fromkeys((Control.RETRY, Control.ACKNOWLEDGE), " or has nodes that did not succeed")


def quoted(written: str) -> str:
    """Return what a caller wrote, cut."""
    return written if len(written) <= _QUOTED else f"{written[:_QUOTED]}…"


def unknown_word(kind: str, written: str, known: Collection[str]) -> str:
    """Return that a word is none of the known ones, with the nearest and the list."""
    near = get_close_matches(written[:_QUOTED].lower(), known, 1)
    guess = f" Did you mean '{near[0]}'?" if near else ""
    return f"There is no {kind} '{quoted(written)}'.{guess} It is one of: {', '.join(known)}"


def wrong_state(control: Control, needed: str, found: str) -> str:
    """Return which state a control needs."""
    return f"Only an action that is {needed}{_ALSO.get(control, '')} can be {_DONE[control]}; this one is {found}"


def unknown_address(path: str, templates: Collection[str]) -> str:
    """Return that an address does not exist, with the nearest one. ``templates``: addresses with parts in braces."""
    path = path[:_LONGEST_PATH]
    parts = path.split("/")
    filled = {_filled(template, parts): template for template in templates}
    near = get_close_matches(path, filled, 1)
    guess = f" The nearest is {filled[near[0]]}." if near else ""
    return f"There is no address {path}.{guess} GET /openapi.json lists all of them"


def wrong_method(method: str, path: str, allowed: str) -> str:
    """Return which methods an address takes."""
    return f"{path[:_LONGEST_PATH]} does not take {method[:_QUOTED]}; it takes {allowed}"


def _filled(template: str, parts: list[str]) -> str:
    """Return the template with the path's own segments where it takes any."""
    own = template.split("/")
    return "/".join(
        parts[place] if part.startswith("{") and place < len(parts) else part for place, part in enumerate(own)
    )
