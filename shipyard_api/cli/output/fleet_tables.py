"""Several sites as one table, or each as a line. Pure."""

from collections.abc import Mapping, Sequence

from shipyard_api.cli.output.printout import Printout, table
from shipyard_api.cli.output.shapes import JsonObject, counts_at, object_at
from shipyard_api.cli.output.wording import news, printable, status_words, waiting_text

NOT_YET = "not asked yet"
"""The error of a site that is being asked for the first time."""
NO_ACCESS = "no access"
"""How the error of a site begins that answers, and refuses the caller."""

_HEADERS = ("Site", "Health", "Action", "State", "Verdict", "Nodes", "Remark")


def fleet(rows: Sequence[JsonObject]) -> Printout:
    """Return a table with a line for each site."""
    return Printout([table([_cells(row) for row in rows], _HEADERS, gap=4)])


def lines(rows: Sequence[JsonObject]) -> Mapping[str, str]:
    """Return a line of text for each site, by its name."""
    return {str(row["site"]): ", ".join(cell for cell in _cells(row) if cell) for row in rows}


def unread(error: str) -> str:
    """Return in two words why a site was not read."""
    return NO_ACCESS if error.startswith(NO_ACCESS) else "no answer"


def _cells(row: JsonObject) -> Sequence[str]:
    if row.get("error"):
        return (printable(row["site"]), unread(row["error"]), "", "", "", "", printable(row["error"]))
    action = object_at(row, "action")
    return (
        printable(row["site"]),
        printable(row.get("health")),
        printable(f"{action['name']} action/{action['id']}") if action else "none",
        printable(action.get("action_lifecycle") or ""),
        printable(row.get("verdict") or ("not yet" if action else "")),
        _nodes(counts_at(row, "nodes")),
        f"waits for {waits}" if (waits := waiting_text(news(row).waiting_for)) else "",
    )


def _nodes(counts: Mapping[str, int]) -> str:
    parts = [f"{number} {status_words(status)}" for status, number in counts.items() if status != "total" and number]
    return ", ".join(parts)
