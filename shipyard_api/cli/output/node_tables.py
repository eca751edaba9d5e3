"""Tables of nodes. Those of the statuses follow the contract (shipyard-cli, 5.4) to the letter; the rest is ours."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from shipyard_api.cli.errors import ShapeError
from shipyard_api.cli.output.hold_tables import held
from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import (
    JsonObject,
    as_entity,
    as_objects,
    counts_at,
    list_at,
    object_at,
    objects_at,
    parse_object,
    required,
)
from shipyard_api.cli.output.wording import (
    case_rows,
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
    body = parse_object(text)
    return sections(
        *(
            Printout(
                [
                    f"{title}\n",
                    table([[row.get(key) for key in keys] for row in as_objects(body[name], name)], headers),
                ]
            )
            for name, (title, headers, keys) in _STATUSES.items()
            if name in body
        )
    )


def nodes(text: str, *, wide: bool = False) -> Printout:
    """Return a line for each node: its state after its latest action; ``wide``: with more columns."""
    headers = ("Node", "Status", "Impact", "Group", "Action", "Updated", "Why", *(("Groups", "Detail") if wide else ()))
    rows = [
        (
            f"node/{required(node, 'name')}",
            _status(node),
            _impact(node),
            node.get("group") or "",
            f"action/{node.get('action_id')}",
            to_the_second(node.get("updated_at")),
            _why_and_back(node),
            *((", ".join(map(str, list_at(node, "groups"))), node.get("detail") or "") if wide else ()),
        )
        for node in _objects(parse_object(text), "nodes")
    ]
    return Printout([table(rows, headers, gap=4)])


def _impact(node: JsonObject) -> str:
    """Return the class of a node, with the aspects in which it differs from the committed design."""
    impact = object_at(node, "impact") if node.get("impact") else {}
    aspects = ", ".join(map(str, list_at(impact, "aspects")))
    return f"{impact.get('class', '')}{f' ({aspects})' if aspects else ''}"


def node(text: str) -> Printout:
    """Return the node's state, and then what each action did with it, the newest first."""
    from shipyard_api.api.entities.holds import Hold

    body = parse_object(text)
    about = [
        ("Name:", body.get("name")),
        ("Status:", _status(body)),
        *([("Impact:", _impact(body))] if body.get("impact") else []),
        *([("To Remove:", _removal(body))] if body.get("in_design") is False else []),
        *_late_rows(body),
        *_cordon_rows(body),
        *(("Held:", held(hold)) for hold in as_entity(body.get("holds") or [], list[Hold])),
        *(
            ("Pending:", f"{work.get('phase')} by {work.get('action')} action/{work.get('action_id')}")
            for work in objects_at(body, "pending")
        ),
        *(
            (f"{word.capitalize()}:", ", ".join(map(str, list_at(body, word))))
            for word in ("roles", "tags")
            if body.get(word)
        ),
        ("Group:", body.get("group")),
        ("Action:", f"action/{body.get('action_id')}"),
        ("Updated:", to_the_second(body.get("updated_at"))),
    ]
    if body.get("reason"):
        about.append(("Why:", _why(body)))
    if body.get("look_at"):
        about.append(("Look At:", body.get("look_at")))
    parts: list[str | Printout] = [Printout([fields(about)])]
    for past in objects_at(body, "history"):
        title = f"{past.get('action')} action/{past.get('action_id')}, {status_words(past.get('dag_status'))}"
        events = [
            *((phase.get("submitted_at"), _sent(phase)) for phase in objects_at(past, "phases")),
            *((change.get("at"), _changed(change)) for change in objects_at(past, "changes")),
        ]
        lines = [(to_the_second(at), *cells) for at, cells in sorted(events, key=lambda event: str(event[0]))]
        events_table = table(lines, ("Time", "Event", "Phase", "Group", "Job", "Why"), gap=4)
        parts.append(Printout([f"{title}\n", events_table]))
    if teardowns := objects_at(body, "teardowns"):
        lines = [
            (
                to_the_second(teardown.get("at")),
                teardown.get("operation"),
                teardown.get("outcome"),
                f"action/{teardown.get('action_id')}",
                teardown.get("message") or "",
            )
            for teardown in teardowns
        ]
        parts.append(Printout(["teardowns\n", table(lines, ("Time", "Operation", "Outcome", "Action", "Why"), gap=4)]))
    if body.get("next"):
        parts.append(f"Older actions: shipyard describe node {body.get('name')} --before {body['next']}")
    return sections(*parts)


def report(text: str) -> Printout:
    """Return the report of an action: its state, its groups with their phases, and every node that failed."""
    body = parse_object(text)
    action = object_at(body, "action")
    about = [
        ("Name:", action.get("name")),
        ("Action:", f"action/{action.get('id')}"),
        ("Lifecycle:", action.get("action_lifecycle")),
        ("Verdict:", body.get("verdict") or "not yet"),
        ("Took:", _duration(body)),
        *_counted(body),
        *waiting_rows(action),
        *case_rows(body),
    ]
    findings = [
        (finding.get("level"), finding.get("name"), finding.get("message")) for finding in objects_at(body, "findings")
    ]
    steps, failed, left = _failed_steps(body), _failed_nodes(body), _left_nodes(body)
    parts = [
        fields(about),
        *([table(steps, _STEP, gap=4)] if steps else []),
        *([] if _has_no_groups(body) else [table(_groups(body), _GROUP, gap=4)]),
        *([table(tasks, _TASK, gap=4)] if (tasks := _tasks(body)) else []),
        *_reasons(body, "skipped_tasks", "task", "Skipped Task"),
        *_reasons(body, "tolerated", "node", "Tolerated Node"),
        *([table(failed, _NODE, gap=4)] if failed or not left else []),
        *([table(left, _LEFT, gap=4)] if left else []),
        *([table(ways, _WAY_BACK, gap=4)] if (ways := _ways_back(body)) else []),
    ]
    if findings:
        parts.append(table(findings, ("Level", "Finding", "Message"), gap=4))
    return sections(*parts)


def groups(text: str) -> Printout:
    """Return the groups of a report."""
    return Printout([table(_groups(parse_object(text)), _GROUP, gap=4)])


def causes(text: str) -> Sequence[TextTable]:
    """Return the tables of a report that say why an action failed, and the commands that go on from there."""
    body = parse_object(text)
    failed = [row for row in _groups(body) if row[2] == "failed"]
    tables = (
        (_failed_steps(body), _STEP),
        (failed, _GROUP),
        (_failed_nodes(body), _NODE),
        (_left_nodes(body), _LEFT),
        (_ways_back(body), _WAY_BACK),
    )
    return [table(rows, headers, gap=4) for rows, headers in tables if rows]


_STEP = ("Failed Step", "Why")
_TASK = ("Task", "Success", "Failed", "Running", "Left")
_GROUP = ("Group", "Critical", "Status", "Success", "Prepare", "Deploy", "Why")
_NODE = ("Failed Node", "Group", "Why", "Look At")
_LEFT = ("Node Not Deployed", "Group", "Status", "Why")
_WAY_BACK = ("Next Command", "When")


def _groups(entity: JsonObject) -> list[tuple[object, ...]]:
    return [
        (
            group.get("name"),
            "yes" if group.get("critical") else "no",
            status_words(group.get("status")),
            "{}/{}".format(*(counts_at(group, "nodes").get(name) for name in ("success", "total"))),
            *(_took(objects_at(group, "phases"), phase) for phase in ("prepare", "deploy")),
            _why(group),
        )
        for group in _objects(entity, "groups")
    ]


def _failed_nodes(entity: JsonObject) -> list[tuple[object, ...]]:
    """Return the nodes that were not deployed, and those on which a task failed."""
    failed = [node_entry for node_entry in _objects(entity, "nodes") if node_entry.get("status") == "failure"]
    named = {node_entry.get("name") for node_entry in failed}
    tasks = objects_at(entity, "failed_tasks")
    rows: list[tuple[object, ...]] = [
        (
            f"node/{node_entry.get('name')}",
            node_entry.get("group") or "",
            _why(node_entry),
            node_entry.get("look_at") or "",
        )
        for node_entry in failed
    ]
    rows += [
        (
            f"node/{task.get('node')}",
            "",
            f"task {task.get('task')}: {task.get('detail')}",
            f"shipyard software logs {task.get('node')} {task.get('task')}",
        )
        for task in tasks
        if task.get("node") not in named
    ]
    number = sum(int(total.get("failed") or 0) for total in objects_at(entity, "tasks"))
    if omitted := number - len(tasks):
        rows.append((f"and {omitted} more", "", "", ""))
    return rows


def _left_nodes(entity: JsonObject) -> list[tuple[object, ...]]:
    """Return the nodes that keep a status although they were to go on, such as those that the policy stopped."""
    return [
        (f"node/{one.get('name')}", one.get("group") or "", node_words(one.get("status"), one["reason"]), _why(one))
        for one in _objects(entity, "nodes")
        if one.get("reason") not in (None, "teardown") and one.get("status") in ("not_started", "prepared")
    ]


def _tasks(entity: JsonObject) -> list[tuple[object, ...]]:
    states = ("success", "failed", "running", "left")
    return [(total.get("task"), *(total.get(state) for state in states)) for total in objects_at(entity, "tasks")]


def _reasons(entity: JsonObject, name: str, key: str, title: str) -> list[TextTable]:
    """Return tasks or nodes with their reasons as a table, none without any."""
    rows = [(one.get(key), one.get("reason")) for one in objects_at(entity, name)]
    return [table(rows, (title, "Why"), gap=4)] if rows else []


def _has_no_groups(entity: JsonObject) -> bool:
    """Return whether the action works on nodes without groups: it takes them down, or runs tasks on them."""
    return not _groups(entity) and bool(_objects(entity, "nodes") or objects_at(entity, "tasks"))


def _counted(entity: JsonObject) -> list[tuple[str, object]]:
    """Return how many groups, nodes and tasks the action has, those that it can have."""
    nodes, tasks = _objects(entity, "nodes"), _tasks(entity)
    statuses = Counter(node_words(node.get("status"), node.get("reason")) for node in nodes)
    rows: list[tuple[str, object]] = []
    if not _has_no_groups(entity):
        rows.append(("Groups:", _tally(counts_at(object_at(entity, "totals"), "groups"), status_words)))
    if nodes or not tasks:
        rows.append(("Nodes:", _tally({"total": len(nodes), **statuses}, str)))
    if tasks:
        rows.append(("Tasks:", len(tasks)))
    return rows


def _ways_back(entity: JsonObject) -> list[tuple[object, ...]]:
    return [(way.get("command"), way.get("when")) for way in objects_at(entity, "way_back")]


def _failed_steps(entity: JsonObject) -> list[tuple[object, ...]]:
    return [(step.get("id"), step.get("detail") or "") for step in objects_at(entity, "failed_steps")]


def _status(node: JsonObject) -> str:
    """Return the status of a node in words, whether it is late, held or cordoned, and whether it left the design."""
    words = {
        "late": node.get("late"),
        "held": objects_at(node, "holds"),
        "cordoned": node.get("cordon"),
        "not in the design": node.get("in_design") is False,
    }
    return ", ".join(
        [node_words(node.get("status"), node.get("reason")), *(word for word, applies in words.items() if applies)]
    )


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


def _objects(entity: JsonObject, key: str) -> Sequence[JsonObject]:
    return as_objects(required(entity, key), key)


def _duration(entity: JsonObject) -> str:
    seconds = entity.get("seconds")
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
