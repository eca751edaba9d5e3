"""Answers about nodes as text. The statuses are to the letter of the contract (shipyard-cli, 5.4), the rest is ours."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from shipyard_api.cli.output.answers import parsed
from shipyard_api.cli.output.printout import Page, fields, sections, table
from shipyard_api.cli.output.snapshot import clock, explained, moment, words

JsonObject = Mapping[str, Any]

_STATUSES = {
    "nodes_provision_status": ("Nodes Provision Status:", ("Hostname", "Status"), ("hostname", "status")),
    "machines_powerstate": ("Machines Power State:", ("Hostname", "Power State"), ("hostname", "power_state")),
}


def site_statuses(text: str) -> Page:
    """Return one table for each kind of status in the answer; what else is in it is passed over."""
    found = parsed(text)
    return sections(
        *(
            Page([f"{title}\n", table([[one.get(key) for key in keys] for one in found[name]], headers)])
            for name, (title, headers, keys) in _STATUSES.items()
            if name in found
        )
    )


def nodes(text: str) -> Page:
    """Return a line for each node: how its latest action left it."""
    headers = ("Node", "Status", "Group", "Action", "Updated", "Why")
    rows = [
        (
            f"node/{one['name']}",
            words(one.get("status")),
            one.get("group") or "",
            f"action/{one.get('action_id')}",
            _second(one.get("updated_at")),
            _why(one),
        )
        for one in parsed(text)["nodes"]
    ]
    return Page([table(rows, headers, gap=4)])


def node(text: str) -> Page:
    """Return how the node stands, and then what each action did with it, the newest first."""
    found = parsed(text)
    about = [
        ("Name:", found.get("name")),
        ("Status:", words(found.get("status"))),
        ("Group:", found.get("group")),
        ("Action:", f"action/{found.get('action_id')}"),
        ("Updated:", _second(found.get("updated_at"))),
    ]
    if found.get("reason"):
        about.append(("Why:", _why(found)))
    parts: list[str | Page] = [Page([fields(about)])]
    for past in found.get("history") or []:
        title = f"{past.get('action')} action/{past.get('action_id')}, {words(past.get('dag_status'))}"
        events = [
            *((phase.get("submitted_at"), _sent(phase)) for phase in past.get("phases") or []),
            *((change.get("at"), _changed(change)) for change in past.get("changes") or []),
        ]
        lines = [(_second(at), *told) for at, told in sorted(events, key=lambda event: str(event[0]))]
        events_table = table(lines, ("Time", "Event", "Phase", "Group", "Job", "Why"), gap=4)
        parts.append(Page([f"{title}\n", events_table]))
    if found.get("next"):
        parts.append(f"Older actions: shipyard describe node {found.get('name')} --before {found['next']}")
    return sections(*parts)


def report(text: str) -> Page:
    """Return the report of an action: how it stands, its groups with their phases, and every node that failed."""
    found = parsed(text)
    action, totals = found["action"], found["totals"]
    seconds = found.get("seconds")
    about = [
        ("Name:", action.get("name")),
        ("Action:", f"action/{action.get('id')}"),
        ("Lifecycle:", action.get("action_lifecycle")),
        ("Verdict:", found.get("verdict") or "not yet"),
        ("Took:", clock(timedelta(seconds=seconds)) if seconds is not None else "not begun"),
        ("Groups:", _tally(totals["groups"])),
        ("Nodes:", _tally(totals["nodes"])),
    ]
    groups = [
        (
            one.get("name"),
            "yes" if one.get("critical") else "no",
            words(one.get("status")),
            f"{one['nodes'].get('success')}/{one['nodes'].get('total')}",
            *(_took(one.get("phases") or [], phase) for phase in ("prepare", "deploy")),
            _why(one),
        )
        for one in found["groups"]
    ]
    failed = [
        (f"node/{one.get('name')}", one.get("group") or "", _why(one), one.get("look_at") or "")
        for one in found["nodes"]
        if one.get("status") == "failure"
    ]
    findings = [(one.get("level"), one.get("name"), one.get("message")) for one in found.get("findings") or []]
    parts = [
        fields(about),
        table(groups, ("Group", "Critical", "Status", "Success", "Prepare", "Deploy", "Why"), gap=4),
        table(failed, ("Failed Node", "Group", "Why", "Look At"), gap=4),
    ]
    if findings:
        parts.append(table(findings, ("Level", "Finding", "Message"), gap=4))
    return sections(*parts)


def _tally(counts: Mapping[str, int]) -> str:
    told = [f"{number} {words(status)}" for status, number in counts.items() if status != "total" and number]
    return f"{counts.get('total')}" + (f": {', '.join(told)}" if told else "")


def _why(item: JsonObject) -> str:
    if item.get("reason"):
        return explained(item)
    return " ".join(str(item.get("detail") or "").split())


def _second(text: object) -> str:
    """Return a moment to the second, in UTC as the server tells it."""
    at = moment(text)
    return at.strftime("%Y-%m-%d %H:%M:%S") if at else ""


def _sent(phase: JsonObject) -> Sequence[object]:
    ended = f", ended {_second(phase['ended_at'])[11:]}" if phase.get("ended_at") else ""
    told = f"sent, phase {words(phase.get('status'))}{ended}"
    return told, phase.get("phase"), phase.get("group"), phase.get("job"), phase.get("message") or ""


def _changed(change: JsonObject) -> Sequence[object]:
    late = " (late)" if change.get("late") else ""
    return (
        f"{words(change.get('status'))}{late}",
        change.get("phase") or "",
        change.get("group") or "",
        "",
        _why(change),
    )


def _took(phases: Sequence[JsonObject], name: str) -> str:
    """Return how long a phase of a group took, all its batches together, or that it goes on; empty if not begun."""
    batches = [phase for phase in phases if phase.get("phase") == name]
    began = [at for at in (moment(phase.get("submitted_at")) for phase in batches) if at]
    ended = [at for at in (moment(phase.get("ended_at")) for phase in batches) if at]
    if began and len(ended) == len(batches):
        return clock(max(ended) - min(began))
    for phase in batches:
        if not phase.get("ended_at"):
            return words(phase.get("status"))
    return ""
