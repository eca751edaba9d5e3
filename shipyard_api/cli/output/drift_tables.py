"""Differences of a site as a table. Pure."""

from collections.abc import Sequence

from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import JsonObject, list_at, object_at, objects_at, parse_object, required
from shipyard_api.cli.output.wording import case_rows, news, printable, to_the_second


def differences(text: str) -> Printout:
    """Return a line for each difference, and what could not be compared."""
    body = parse_object(text)
    rows = [
        (
            f"node/{required(difference, 'node')}",
            required(difference, "kind"),
            difference.get("expected"),
            difference.get("seen"),
            to_the_second(difference.get("since")),
            difference.get("system"),
        )
        for difference in objects_at(body, "differences")
    ]
    action = object_at(body, "action")
    compared = required(body, "compared")
    title = (
        f"{compared} node{'' if compared == 1 else 's'} compared with {action.get('name')} action/{action.get('id')}"
    )
    parts: list[str | TextTable] = [f"{title}: {_number(len(rows))}"]
    if causes := case_rows(news(body)):
        parts.append(fields(causes))
    if rows:
        parts.append(table(rows, ("Node", "Difference", "Expected", "Seen", "Since", "System"), gap=4))
    parts += _to_do(objects_at(body, "to_do") if body.get("to_do") else [])
    unanswered = objects_at(body, "unanswered")
    lines = [f"{system.get('system')} could not be asked: {printable(system.get('why'))}" for system in unanswered]
    if skipped := [node.get("node") for node in objects_at(body, "skipped")]:
        lines.append(f"Left out, because an action works on them: {listed(skipped)}")
    if unsighted := list_at(body, "unsighted"):
        lines.append(f"Not yet known which machine they had: {listed(unsighted)}")
    return sections(*parts, *(["\n".join(lines)] if lines else []))


def _to_do(nodes: Sequence[JsonObject]) -> Sequence[str]:
    """Return what the committed design asks of nodes: no drift, and a plan says the rest of it."""
    by_class: dict[str, list[object]] = {}
    for entry in nodes:
        by_class.setdefault(str(required(entry, "class")), []).append(entry.get("node"))
    lines = [f"  {name}: {listed(names)}" for name, names in by_class.items()]
    return ["\n".join(["To do, as `shipyard plan update_site` shows:", *lines])] if lines else []


def _number(rows: int) -> str:
    return f"{rows} difference{'s' * (rows != 1)}" if rows else "no difference"
