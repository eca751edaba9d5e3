"""What ``shipyard approve`` prints. Pure."""

from shipyard_api.cli.output.printout import Printout, sections, table
from shipyard_api.cli.output.shapes import JsonObject, objects_at, parse_object
from shipyard_api.cli.output.wording import to_the_second

_WAITING = ("Waits After Wave", "Of Group", "Nodes Deployed", "Since")
_GIVEN = ("Wave", "Group", "Answer", "By", "At", "Reason")


def answered(text: str) -> Printout:
    """Return the answer that was just given, and the approvals that the action still waits for."""
    body = parse_object(text)
    *_, last = objects_at(body, "given")
    verb = "Approved" if last.get("approve") else "Refused"
    group = f" of group {last['group']}" if last.get("group") else ""
    sentence = f"{verb}: what follows wave {last.get('wave')}{group}."
    waiting = _waiting(body)
    return sections(sentence, *([table(waiting, _WAITING)] if waiting else []))


def approvals(text: str) -> Printout:
    """Return the approvals that an action waits for, and those that were given."""
    body = parse_object(text)
    waiting = _waiting(body)
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


def _waiting(body: JsonObject) -> list[tuple[object, ...]]:
    return [
        (gate.get("wave"), gate.get("group") or "all", gate.get("deployed"), to_the_second(gate.get("since")))
        for gate in objects_at(body, "waiting")
    ]
