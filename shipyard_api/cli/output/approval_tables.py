"""What ``shipyard approve`` prints. Pure."""

from shipyard_api.cli.output.printout import Printout, sections, table
from shipyard_api.cli.output.shapes import objects_at, parse_object

_WAITING = ("Waits After Wave", "Of Group", "Nodes Deployed", "Since")
_GIVEN = ("Wave", "Group", "Answer", "By", "At", "Reason")


def approvals(text: str) -> Printout:
    """Return the approvals that an action waits for, and those that were given."""
    found = parse_object(text)
    waiting = [
        (one.get("wave"), one.get("group") or "all", one.get("deployed"), one.get("since"))
        for one in objects_at(found, "waiting")
    ]
    given = [
        (
            one.get("wave"),
            one.get("group") or "all",
            "approved" if one.get("approve") else "refused",
            one.get("by"),
            one.get("at"),
            one.get("reason"),
        )
        for one in objects_at(found, "given")
    ]
    parts = [table(waiting, _WAITING) if waiting else "The action waits for no approval."]
    return sections(*parts, *([table(given, _GIVEN)] if given else []))
