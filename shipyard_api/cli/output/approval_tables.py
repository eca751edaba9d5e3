"""What ``shipyard approve`` prints. Pure."""

from shipyard_api.cli.output.printout import Printout, sections, table
from shipyard_api.cli.output.shapes import objects_at, parse_object
from shipyard_api.cli.output.wording import to_the_second

_WAITING = ("Waits After Wave", "Of Group", "Nodes Deployed", "Since")
_GIVEN = ("Wave", "Group", "Answer", "By", "At", "Reason")


def approvals(text: str) -> Printout:
    """Return the approvals that an action waits for, and those that were given."""
    body = parse_object(text)
    waiting = [
        (gate.get("wave"), gate.get("group") or "all", gate.get("deployed"), to_the_second(gate.get("since")))
        for gate in objects_at(body, "waiting")
    ]
    given = [
        (
            approval.get("wave"),
            approval.get("group") or "all",
            "approved" if approval.get("approve") else "refused",
            approval.get("by"),
            to_the_second(approval.get("at")),
            approval.get("reason"),
        )
        for approval in objects_at(body, "given")
    ]
    parts = [table(waiting, _WAITING) if waiting else "The action waits for no approval."]
    return sections(*parts, *([table(given, _GIVEN)] if given else []))
