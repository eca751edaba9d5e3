"""Tables of nodes. Those of the statuses follow the contract (shipyard-cli, 5.4) to the letter; the rest is ours."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from operator import itemgetter

from shipyard_api.api import entities
from shipyard_api.cli.output.hold_tables import held
from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import (
    as_objects,
    decode,
    parse_object,
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
            f"node/{node.name}",
            _status(node),
            _impact(node),
            node.group or "",
            f"action/{node.action}",
            to_the_second(node.updated_at),
            _why_and_back(node),
            *((", ".join(node.groups), node.detail) if wide else ()),
        )
        for node in decode(text, entities.nodes.LastNodeList).nodes
    ]
    return Printout([table(rows, headers, gap=4)])


def _impact(node: "entities.nodes.LastNode") -> str:
    """Return the class of a node, with the aspects in which it differs from the committed design."""
    if node.impact is None:
        return ""
    return f"{node.impact.impact} ({', '.join(node.impact.aspects)})" if node.impact.aspects else node.impact.impact


def node(text: str) -> Printout:
    """Return the node's state, and then what each action did with it, the newest first."""
    node = decode(text, entities.nodes.NodeDescription)
    parts: list[str | Printout] = [Printout([fields(_about(node))])]
    for past in node.history:
        events = [
            *((phase.submitted_at, _sent(phase)) for phase in past.phases),
            *((change.at, _changed(change)) for change in past.changes),
        ]
        lines = [(to_the_second(at), *cells) for at, cells in sorted(events, key=itemgetter(0))]
        events_table = table(lines, ("Time", "Event", "Phase", "Group", "Job", "Why"), gap=4)
        parts.append(Printout([f"{past.name} action/{past.action}, {status_words(past.state)}\n", events_table]))
    if node.teardowns:
        lines = [
            (to_the_second(line.at), line.operation, line.outcome, f"action/{line.action}", line.message)
            for line in node.teardowns
        ]
        parts.append(Printout(["teardowns\n", table(lines, ("Time", "Operation", "Outcome", "Action", "Why"), gap=4)]))
    if node.next:
        parts.append(f"Older actions: shipyard describe node {node.name} --before {node.next}")
    return sections(*parts)


def _about(node: "entities.nodes.NodeDescription") -> Sequence[tuple[str, object]]:
    late, cordon = node.late, node.cordon
    usual = clock(timedelta(seconds=late.usual)) if late else ""
    removal = f"shipyard create action remove_server --param=target_nodes={node.name}"
    notable = [
        ("Impact:", _impact(node)),
        ("To Remove:", removal if node.in_design is False else ""),
        ("Late:", f"since {to_the_second(late.since)}, usually at most {usual}" if late else ""),
        (
            "Cordoned:",
            f"by {cordon.name} action/{cordon.action}, since {to_the_second(cordon.since)}" if cordon else "",
        ),
        *(("To Bring Back:", command) for command in (cordon.commands if cordon else ())),
        *(("Held:", held(hold)) for hold in node.holds),
        *(("Pending:", f"{work.phase} by {work.name} action/{work.action}") for work in node.pending),
        ("Roles:", ", ".join(node.roles)),
        ("Tags:", ", ".join(node.tags)),
    ]
    return [
        ("Name:", node.name),
        ("Status:", _status(node)),
        *filter(itemgetter(1), notable),
        ("Group:", node.group),
        ("Action:", f"action/{node.action}"),
        ("Updated:", to_the_second(node.updated_at)),
        *filter(
            itemgetter(1), [("Why:", _why(node.reason, node.detail) if node.reason else ""), ("Look At:", node.look_at)]
        ),
    ]


def report(text: str) -> Printout:
    """Return the report of an action: its state, its groups with their phases, and every node that failed."""
    report = _report(text)
    action = report.action
    about = [
        ("Name:", action.name),
        ("Action:", f"action/{action.id}"),
        ("Lifecycle:", action.action_lifecycle),
        ("Verdict:", report.verdict or "not yet"),
        ("Took:", "not begun" if report.seconds is None else clock(timedelta(seconds=report.seconds))),
        *_counted(report),
        *waiting_rows(action.waiting_for),
        *case_rows(report),
    ]
    failed, left = _failed_nodes(report), _left_nodes(report)
    tables: list[tuple[Sequence[Sequence[object]], tuple[str, ...]]] = [
        (_failed_steps(report), _STEP),
        ([] if _has_no_groups(report) else _groups(report), _GROUP),
        ([(total.task, total.success, total.failed, total.running, total.left) for total in report.tasks], _TASK),
        ([(skipped.task, skipped.reason) for skipped in report.skipped_tasks], ("Skipped Task", "Why")),
        ([(tolerated.node, tolerated.reason) for tolerated in report.tolerated], ("Tolerated Node", "Why")),
        (failed, _NODE),
        (left, _LEFT),
        (_ways_back(report), _WAY_BACK),
        ([(finding.level, finding.name, finding.message) for finding in report.findings], _FINDING),
    ]
    always = {_GROUP: not _has_no_groups(report), _NODE: not left}
    return sections(fields(about), *(table(rows, head, gap=4) for rows, head in tables if rows or always.get(head)))


def groups(text: str) -> Printout:
    """Return the groups of a report."""
    return Printout([table(_groups(_report(text)), _GROUP, gap=4)])


def causes(text: str) -> Sequence[TextTable]:
    """Return the tables of a report that say why an action failed, and the commands that go on from there."""
    report = _report(text)
    tables = (
        (_failed_steps(report), _STEP),
        ([row for row in _groups(report) if row[2] == "failed"], _GROUP),
        (_failed_nodes(report), _NODE),
        (_left_nodes(report), _LEFT),
        (_ways_back(report), _WAY_BACK),
    )
    return [table(rows, headers, gap=4) for rows, headers in tables if rows]


def _report(text: str) -> "entities.reports.Report":
    return decode(text, entities.reports.Report)


_STEP = ("Failed Step", "Why")
_TASK = ("Task", "Success", "Failed", "Running", "Left")
_GROUP = ("Group", "Critical", "Status", "Success", "Prepare", "Deploy", "Why")
_NODE = ("Failed Node", "Group", "Why", "Look At")
_FINDING = ("Level", "Finding", "Message")
_LEFT = ("Node Not Deployed", "Group", "Status", "Why")
_WAY_BACK = ("Next Command", "When")


def _groups(report: "entities.reports.Report") -> list[tuple[object, ...]]:
    return [
        (
            group.name,
            "yes" if group.critical else "no",
            status_words(group.status),
            f"{group.nodes.get('success')}/{group.nodes.get('total')}",
            *(_took(group.phases, phase) for phase in ("prepare", "deploy")),
            _why(group.reason, group.detail),
        )
        for group in report.groups
    ]


def _failed_nodes(report: "entities.reports.Report") -> list[tuple[object, ...]]:
    """Return the nodes that were not deployed, and those on which a task failed."""
    failed = [node for node in report.nodes if node.status == "failure"]
    named = {node.name for node in failed}
    rows: list[tuple[object, ...]] = [
        (f"node/{node.name}", node.group or "", _why(node.reason, node.detail), node.look_at or "") for node in failed
    ]
    rows += [
        (f"node/{task.node}", "", f"task {task.task}: {task.detail}", f"shipyard software logs {task.node} {task.task}")
        for task in report.failed_tasks
        if task.node not in named
    ]
    if omitted := sum(total.failed for total in report.tasks) - len(report.failed_tasks):
        rows.append((f"and {omitted} more", "", "", ""))
    return rows


def _left_nodes(report: "entities.reports.Report") -> list[tuple[object, ...]]:
    """Return the nodes that keep a status although they were to go on, such as those that the policy stopped."""
    return [
        (f"node/{node.name}", node.group or "", node_words(node.status, node.reason), _why(node.reason, node.detail))
        for node in report.nodes
        if node.reason not in (None, "teardown") and node.status in ("not_started", "prepared")
    ]


def _has_no_groups(report: "entities.reports.Report") -> bool:
    """Return whether the action works on nodes without groups: it takes them down, or runs tasks on them."""
    return not report.groups and bool(report.nodes or report.tasks)


def _counted(report: "entities.reports.Report") -> list[tuple[str, object]]:
    """Return how many groups, nodes and tasks the action has, those that it can have."""
    nodes, tasks = report.nodes, report.tasks
    statuses = Counter(node_words(node.status, node.reason) for node in nodes)
    rows: list[tuple[str, object]] = []
    if not _has_no_groups(report):
        rows.append(("Groups:", _tally(report.totals.groups, status_words)))
    if nodes or not tasks:
        rows.append(("Nodes:", _tally({"total": len(nodes), **statuses}, str)))
    if tasks:
        rows.append(("Tasks:", len(tasks)))
    return rows


def _ways_back(report: "entities.reports.Report") -> list[tuple[object, ...]]:
    return [(way.get("command"), way.get("when")) for way in report.way_back]


def _failed_steps(report: "entities.reports.Report") -> list[tuple[object, ...]]:
    return [(step.id, step.detail) for step in report.failed_steps]


def _status(node: "entities.nodes.LastNode") -> str:
    """Return the status of a node in words, whether it is late, held or cordoned, and whether it left the design."""
    words = {
        "late": node.late,
        "held": node.holds,
        "cordoned": node.cordon,
        "not in the design": node.in_design is False,
    }
    return ", ".join([node_words(node.status, node.reason), *(word for word, applies in words.items() if applies)])


def _why_and_back(node: "entities.nodes.LastNode") -> str:
    """Return why the node has its status, and the commands that bring it back from a cordon."""
    back = f"to bring it back: {' or '.join(node.cordon.commands)}" if node.cordon else ""
    return "; ".join(part for part in (_why(node.reason, node.detail), back) if part)


def _tally(counts: Mapping[str, int], words: Callable[[object], str]) -> str:
    parts = [f"{number} {words(status)}" for status, number in counts.items() if status != "total" and number]
    return f"{counts.get('total')}" + (f": {', '.join(parts)}" if parts else "")


def _why(reason: object, detail: object) -> str:
    return reason_text(reason, detail) if reason else " ".join(str(detail or "").split())


def _sent(phase: "entities.nodes.PastPhase") -> Sequence[object]:
    ended = f", ended {to_the_second(phase.ended_at)[11:]}" if phase.ended_at else ""
    event = f"sent, phase {status_words(phase.status)}{ended}"
    return event, phase.phase, phase.group, phase.job, phase.message


def _changed(change: "entities.nodes.NodeChange") -> Sequence[object]:
    late = " (late)" if change.late else ""
    return (
        f"{node_words(change.status)}{late}",
        change.phase or "",
        change.group or "",
        "",
        _why(change.reason, change.detail),
    )


def _took(phases: Sequence["entities.groups.ReportedPhase"], name: str) -> str:
    """Return how long all batches of a phase took together, or the status of an unfinished one; "" if none began."""
    batches = [phase for phase in phases if phase.phase == name]
    began = [at for at in (parse_time(phase.submitted_at) for phase in batches) if at]
    ended = [at for at in (parse_time(phase.ended_at) for phase in batches) if at]
    if began and len(ended) == len(batches):
        return clock(max(ended) - min(began))
    for phase in batches:
        if not phase.ended_at:
            return status_words(phase.status)
    return ""
