"""Tables of nodes. Those of the statuses follow the contract (shipyard-cli, 5.4) to the letter; the rest is ours."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from shipyard_api.cli.errors import ShapeError
from shipyard_api.cli.output.hold_tables import held
from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import (
    JsonObject,
    as_objects,
    counts_at,
    list_at,
    object_at,
    objects_at,
    parse_object,
    required,
)
from shipyard_api.cli.output.wording import (
    clock,
    node_words,
    parse_time,
    reason_text,
    status_words,
    to_the_second,
    waiting_rows,
)

_STATUSES = {
    "nodes_provision_status": ("Nodes Provision Status:", ("Hostname", "Status"), ("hostname", "status")),
    "machines_powerstate": ("Machines Power State:", ("Hostname", "Power State"), ("hostname", "power_state")),
}


def site_statuses(text: str) -> Printout:
    """Return one table for each known kind of status in the answer."""
    found = parse_object(text)
    return sections(
        *(
            Printout(
                [
                    f"{title}\n",
                    table([[one.get(key) for key in keys] for one in as_objects(found[name], name)], headers),
                ]
            )
            for name, (title, headers, keys) in _STATUSES.items()
            if name in found
        )
    )


def nodes(text: str, *, wide: bool = False) -> Printout:
    """Return a line for each node: its state after its latest action; ``wide``: with more columns."""
    headers = ("Node", "Status", "Group", "Action", "Updated", "Why", *(("Groups", "Detail") if wide else ()))
    rows = [
        (
            f"node/{required(one, 'name')}",
            _status(one),
            one.get("group") or "",
            f"action/{one.get('action_id')}",
            to_the_second(one.get("updated_at")),
            _why_and_back(one),
            *((", ".join(map(str, list_at(one, "groups"))), one.get("detail") or "") if wide else ()),
        )
        for one in _objects(parse_object(text), "nodes")
    ]
    return Printout([table(rows, headers, gap=4)])


def node(text: str) -> Printout:
    """Return the node's state, and then what each action did with it, the newest first."""
    found = parse_object(text)
    about = [
        ("Name:", found.get("name")),
        ("Status:", _status(found)),
        *([("To Remove:", _removal(found))] if found.get("in_design") is False else []),
        *_late_rows(found),
        *_cordon_rows(found),
        *(("Held:", held(hold)) for hold in objects_at(found, "holds")),
        *(
            ("Pending:", f"{one.get('phase')} by {one.get('action')} action/{one.get('action_id')}")
            for one in objects_at(found, "pending")
        ),
        ("Group:", found.get("group")),
        ("Action:", f"action/{found.get('action_id')}"),
        ("Updated:", to_the_second(found.get("updated_at"))),
    ]
    if found.get("reason"):
        about.append(("Why:", _why(found)))
    if found.get("look_at"):
        about.append(("Look At:", found.get("look_at")))
    parts: list[str | Printout] = [Printout([fields(about)])]
    for past in objects_at(found, "history"):
        title = f"{past.get('action')} action/{past.get('action_id')}, {status_words(past.get('dag_status'))}"
        events = [
            *((phase.get("submitted_at"), _sent(phase)) for phase in objects_at(past, "phases")),
            *((change.get("at"), _changed(change)) for change in objects_at(past, "changes")),
        ]
        lines = [(to_the_second(at), *cells) for at, cells in sorted(events, key=lambda event: str(event[0]))]
        events_table = table(lines, ("Time", "Event", "Phase", "Group", "Job", "Why"), gap=4)
        parts.append(Printout([f"{title}\n", events_table]))
    if teardowns := objects_at(found, "teardowns"):
        lines = [
            (
                to_the_second(one.get("at")),
                one.get("operation"),
                one.get("outcome"),
                f"action/{one.get('action_id')}",
                one.get("message") or "",
            )
            for one in teardowns
        ]
        parts.append(Printout(["teardowns\n", table(lines, ("Time", "Operation", "Outcome", "Action", "Why"), gap=4)]))
    if found.get("next"):
        parts.append(f"Older actions: shipyard describe node {found.get('name')} --before {found['next']}")
    return sections(*parts)


def report(text: str) -> Printout:
    """Return the report of an action: its state, its groups with their phases, and every node that failed."""
    found = parse_object(text)
    action, totals = object_at(found, "action"), object_at(found, "totals")
    about = [
        ("Name:", action.get("name")),
        ("Action:", f"action/{action.get('id')}"),
        ("Lifecycle:", action.get("action_lifecycle")),
        ("Verdict:", found.get("verdict") or "not yet"),
        ("Took:", _duration(found)),
        ("Groups:", _tally(counts_at(totals, "groups"), status_words)),
        ("Nodes:", _tally(counts_at(totals, "nodes"), node_words)),
        *waiting_rows(action),
    ]
    findings = [(one.get("level"), one.get("name"), one.get("message")) for one in objects_at(found, "findings")]
    steps = _failed_steps(found)
    parts = [
        fields(about),
        *([table(steps, _STEP, gap=4)] if steps else []),
        table(_groups(found), _GROUP, gap=4),
        table(_failed_nodes(found), _NODE, gap=4),
        *([table(ways, _WAY_BACK, gap=4)] if (ways := _ways_back(found)) else []),
    ]
    if findings:
        parts.append(table(findings, ("Level", "Finding", "Message"), gap=4))
    return sections(*parts)


def groups(text: str) -> Printout:
    """Return the groups of a report."""
    return Printout([table(_groups(parse_object(text)), _GROUP, gap=4)])


def causes(text: str) -> Sequence[TextTable]:
    """Return the tables of a report that say why an action failed, and the commands that go on from there."""
    found = parse_object(text)
    failed = [row for row in _groups(found) if row[2] == "failed"]
    tables = (
        (_failed_steps(found), _STEP),
        (failed, _GROUP),
        (_failed_nodes(found), _NODE),
        (_ways_back(found), _WAY_BACK),
    )
    return [table(rows, headers, gap=4) for rows, headers in tables if rows]


_STEP = ("Failed Step", "Why")
_GROUP = ("Group", "Critical", "Status", "Success", "Prepare", "Deploy", "Why")
_NODE = ("Failed Node", "Group", "Why", "Look At")
_WAY_BACK = ("Next Command", "When")


def _groups(found: JsonObject) -> list[tuple[object, ...]]:
    return [
        (
            one.get("name"),
            "yes" if one.get("critical") else "no",
            status_words(one.get("status")),
            "{}/{}".format(*(counts_at(one, "nodes").get(name) for name in ("success", "total"))),
            *(_took(objects_at(one, "phases"), phase) for phase in ("prepare", "deploy")),
            _why(one),
        )
        for one in _objects(found, "groups")
    ]


def _failed_nodes(found: JsonObject) -> list[tuple[object, ...]]:
    return [
        (f"node/{one.get('name')}", one.get("group") or "", _why(one), one.get("look_at") or "")
        for one in _objects(found, "nodes")
        if one.get("status") == "failure"
    ]


def _ways_back(found: JsonObject) -> list[tuple[object, ...]]:
    return [(one.get("command"), one.get("when")) for one in objects_at(found, "way_back")]


def _failed_steps(found: JsonObject) -> list[tuple[object, ...]]:
    return [(one.get("id"), one.get("detail") or "") for one in objects_at(found, "failed_steps")]


def _status(node: JsonObject) -> str:
    """Return the status of a node in words, whether it is late, held or cordoned, and whether it left the design."""
    words = {
        "late": node.get("late"),
        "held": objects_at(node, "holds"),
        "cordoned": node.get("cordon"),
        "not in the design": node.get("in_design") is False,
    }
    return ", ".join([node_words(node.get("status")), *(word for word, applies in words.items() if applies)])


def _late_rows(node: JsonObject) -> Sequence[tuple[str, str]]:
    """Return since when the node is late, and how long its phase usually lasts."""
    if not node.get("late"):
        return []
    late = object_at(node, "late")
    usual = late.get("usual_seconds")
    if not isinstance(usual, int | float):
        raise ShapeError("usual_seconds is not a number")
    return [("Late:", f"since {to_the_second(late.get('since'))}, usually at most {clock(timedelta(seconds=usual))}")]


def _why_and_back(node: JsonObject) -> str:
    """Return why the node has its status, and the commands that bring it back from a cordon."""
    commands = " or ".join(map(str, list_at(object_at(node, "cordon"), "commands"))) if node.get("cordon") else ""
    return "; ".join(part for part in (_why(node), f"to bring it back: {commands}" if commands else "") if part)


def _cordon_rows(node: JsonObject) -> Sequence[tuple[str, str]]:
    """Return which action left the node cordoned, and what brings it back."""
    if not node.get("cordon"):
        return []
    cordon = object_at(node, "cordon")
    by = f"by {cordon.get('action')} action/{cordon.get('action_id')}, since {to_the_second(cordon.get('since'))}"
    return [("Cordoned:", by), *(("To Bring Back:", str(command)) for command in list_at(cordon, "commands"))]


def _removal(node: JsonObject) -> str:
    return f"shipyard create action remove_server --param=target_nodes={node.get('name')}"


def _tally(counts: Mapping[str, int], words: Callable[[object], str]) -> str:
    parts = [f"{number} {words(status)}" for status, number in counts.items() if status != "total" and number]
    return f"{counts.get('total')}" + (f": {', '.join(parts)}" if parts else "")


def _why(item: JsonObject) -> str:
    if item.get("reason"):
        return reason_text(item)
    return " ".join(str(item.get("detail") or "").split())


def _objects(found: JsonObject, key: str) -> Sequence[JsonObject]:
    return as_objects(required(found, key), key)


def _duration(found: JsonObject) -> str:
    seconds = found.get("seconds")
    if seconds is None:
        return "not begun"
    if not isinstance(seconds, int | float):
        raise ShapeError("seconds is not a number")
    return clock(timedelta(seconds=seconds))


def _sent(phase: JsonObject) -> Sequence[object]:
    ended = f", ended {to_the_second(phase['ended_at'])[11:]}" if phase.get("ended_at") else ""
    event = f"sent, phase {status_words(phase.get('status'))}{ended}"
    return event, phase.get("phase"), phase.get("group"), phase.get("job"), phase.get("message") or ""


def _changed(change: JsonObject) -> Sequence[object]:
    late = " (late)" if change.get("late") else ""
    return (
        f"{node_words(change.get('status'))}{late}",
        change.get("phase") or "",
        change.get("group") or "",
        "",
        _why(change),
    )


def _took(phases: Sequence[JsonObject], name: str) -> str:
    """Return how long all batches of a phase took together, or the status of an unfinished one; "" if none began."""
    batches = [phase for phase in phases if phase.get("phase") == name]
    began = [at for at in (parse_time(phase.get("submitted_at")) for phase in batches) if at]
    ended = [at for at in (parse_time(phase.get("ended_at")) for phase in batches) if at]
    if began and len(ended) == len(batches):
        return clock(max(ended) - min(began))
    for phase in batches:
        if not phase.get("ended_at"):
            return status_words(phase.get("status"))
    return ""
