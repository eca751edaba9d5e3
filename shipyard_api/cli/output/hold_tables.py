"""Holds on nodes as tables. Pure."""

from collections.abc import Sequence

from shipyard_api.api import entities
from shipyard_api.cli.output.printout import Printout, TextTable, sections, table
from shipyard_api.cli.output.shapes import as_entity, decode, parse_object
from shipyard_api.cli.output.wording import to_the_second


def holds(text: str) -> Printout:
    """Return a line for each hold; with who released it, if any was released."""
    return Printout([_table(decode(text, entities.holds.HoldList).holds)])


def placed(text: str) -> Printout:
    """Return a new hold, or several, and the actions whose work on the nodes goes on."""
    body = parse_object(text)
    new = as_entity(body.get("holds") or [body], list[entities.holds.PlacedHold])
    actions = dict.fromkeys(f"action/{action}" for hold in new for action in hold.under_way)
    lines = [f"Work on it that was submitted before goes on: {', '.join(actions)}"] if actions else []
    return sections(_table(new), *lines)


def released(text: str) -> Printout:
    """Return a hold that was released or had ended."""
    return Printout([_table([decode(text, entities.holds.Hold)])])


def held(hold: "entities.holds.Hold") -> str:
    """Return a hold as part of a sentence about its node."""
    until = f" until {to_the_second(hold.until)}" if hold.until else ""
    return f"hold/{hold.id} ({_kind(hold)}) by {hold.placed_by}{until}: {' '.join(hold.reason.split())}"


def _kind(hold: "entities.holds.Hold") -> str:
    """Return the kind of a hold, and its class unless it is the usual one."""
    return hold.kind + ("" if hold.hold_class == "all" else f", {hold.hold_class.replace('_', ' ')}")


def _table(holds: Sequence["entities.holds.Hold"]) -> TextTable:
    ended = any(hold.released_at for hold in holds)
    rows = [
        (
            f"hold/{hold.id}",
            f"node/{hold.node}",
            _kind(hold),
            hold.placed_by,
            to_the_second(hold.placed_at),
            to_the_second(hold.until) or "released",
            *((_release(hold),) if ended else ()),
            " ".join(hold.reason.split()),
        )
        for hold in holds
    ]
    headers = ("Hold", "Node", "Kind", "By", "Since", "Until", *(("Released",) if ended else ()), "Reason")
    return table(rows, headers, gap=4)


def _release(hold: "entities.holds.Hold") -> str:
    return f"{to_the_second(hold.released_at)} by {hold.released_by}" if hold.released_at else ""
