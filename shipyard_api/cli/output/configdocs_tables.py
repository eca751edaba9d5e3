"""Comparisons of two versions of the documents, as the contract has them (shipyard-cli, 5.4). Pure.

The contract calls every revision Deckhand's; ours may be of the embedded store.
"""

from shipyard_api.cli.output.printout import Printout, UnifiedDiff, table
from shipyard_api.cli.output.shapes import parse_objects


def collections(text: str) -> Printout:
    """Return the status of each collection in both versions."""
    rows = parse_objects(text)
    headers = ("Collection", "Base", "New")
    if not rows:
        return Printout([table([], headers)])
    last = rows[-1]
    title = (
        f"   Comparing Base: {last.get('base_version')} (revision {last.get('base_revision')})\n"
        f"    \t to New: {last.get('new_version')} (revision {last.get('new_revision')})\n"
    )
    cells = [(row.get("collection_name"), row.get("base_status"), row.get("new_status")) for row in rows]
    return Printout([title, table(cells, headers, gap=10)])


def difference(text: str) -> Printout:
    """Return a unified diff as it is printed below the collections."""
    diff = text.removesuffix("\n")
    return Printout(["\n", UnifiedDiff(diff) if diff else "No document differs."])
