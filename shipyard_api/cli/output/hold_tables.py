"""Holds on nodes as tables. Pure."""

from collections.abc import Sequence

from shipyard_api.cli.output.printout import Printout, TextTable, sections, table
from shipyard_api.cli.output.shapes import JsonObject, as_objects, list_at, objects_at, parse_object, required
from shipyard_api.cli.output.wording import to_the_second


def holds(text: str) -> Printout:
    """Return a line for each hold; with who released it, if any was released."""
    return Printout([_table(as_objects(required(parse_object(text), "holds"), "holds"))])


def placed(text: str) -> Printout:
    """Return a new hold, or several, and the actions whose work on the nodes goes on."""
    body = parse_object(text)
    new = objects_at(body, "holds") or [body]
    actions = dict.fromkeys(f"action/{action}" for hold in new for action in list_at(hold, "under_way"))
    lines = [f"Work on it that was submitted before goes on: {', '.join(actions)}"] if actions else []
    return sections(_table(new), *lines)


def released(text: str) -> Printout:
    """Return a hold that was released or had ended."""
    return Printout([_table([parse_object(text)])])


def held(body: JsonObject) -> str:
    """Return a hold as part of a sentence about its node."""
    until = f" until {to_the_second(body.get('until'))}" if body.get("until") else ""
    reason = " ".join(str(body.get("reason") or "").split())
    return f"hold/{body.get('id')} ({_kind(body)}) by {body.get('placed_by')}{until}: {reason}"


def _kind(hold: JsonObject) -> str:
    """Return the kind of a hold, and its class unless it is the usual one."""
    limited = str(hold.get("class") or "all")
    return str(hold.get("kind")) + ("" if limited == "all" else f", {limited.replace('_', ' ')}")


def _table(holds: Sequence[JsonObject]) -> TextTable:
    ended = any(hold.get("released_at") for hold in holds)
    rows = [
        (
            f"hold/{required(hold, 'id')}",
            f"node/{required(hold, 'node')}",
            _kind(hold),
            hold.get("placed_by"),
            to_the_second(hold.get("placed_at")),
            to_the_second(hold.get("until")) or "released",
            *((_release(hold),) if ended else ()),
            " ".join(str(hold.get("reason") or "").split()),
        )
        for hold in holds
    ]
    headers = ("Hold", "Node", "Kind", "By", "Since", "Until", *(("Released",) if ended else ()), "Reason")
    return table(rows, headers, gap=4)


def _release(hold: JsonObject) -> str:
    return f"{to_the_second(hold.get('released_at'))} by {hold.get('released_by')}" if hold.get("released_at") else ""
