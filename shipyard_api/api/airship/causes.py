"""The cause of an error and what to do, where the contract's sentence lacks it: the entry of `messageList`."""

from collections.abc import Collection
from difflib import get_close_matches

from shipyard_api.api.http.errors import quoted

# As many characters of what a caller wrote are repeated and compared.
_QUOTED = 60
_LONGEST_PATH = 200


def unknown_word(kind: str, written: str, known: Collection[str]) -> str:
    """Return that a word is none of the known ones, with the nearest and the list."""
    near = get_close_matches(written[:_QUOTED].lower(), known, 1)
    guess = f" Did you mean '{near[0]}'?" if near else ""
    return f"There is no {kind} '{quoted(written)}'.{guess} It is one of: {', '.join(known)}"


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
    segments = template.split("/")
    return "/".join(
        parts[place] if part.startswith("{") and place < len(parts) else part for place, part in enumerate(segments)
    )
