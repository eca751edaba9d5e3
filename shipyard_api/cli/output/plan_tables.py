"""The plan of an action as tables. Pure."""

from collections.abc import Mapping, Sequence

from shipyard_api.api import entities
from shipyard_api.cli.output import forecast_tables
from shipyard_api.cli.output.drain_tables import drains
from shipyard_api.cli.output.hold_tables import held
from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.plan_tree import needs, tree
from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import (
    JsonObject,
    as_entity,
    as_objects,
    counts_at,
    decode,
    list_at,
    object_at,
    objects_at,
    parse_object,
    required,
)
from shipyard_api.cli.output.status_text import message_lines
from shipyard_api.cli.output.task_tables import stage, tasks
from shipyard_api.cli.output.wording import to_the_second

_OLDER = "the last revision with these servers"
_CLASSES = ("relabel", "software", "service", "reinstall", "replace", "unknown")
"""The classes of deployed nodes that differ, in the order in which they are shown."""
_STORED = ("Plan", "Action", "Stored", "Approved", "Started")
_SUMMARY_GAP = 3  # blanks between columns; no contract sets them


def plan(text: str) -> Printout:
    """Return a plan: its subject, a refusal, groups, steps and findings."""
    return _plan(parse_object(text))


def stored_plan(text: str) -> Printout:
    """Return a stored plan: hash, signatures, changes against the last plan, and the plan."""
    body, since = parse_object(text), []
    stored = as_entity(body, entities.plans.StoredPlan)
    if last := stored.last:
        lines = [f"- {change}" for change in last.differences] or ["Nothing differs."]
        since = ["\n".join([f"Compared with plan/{last.id}, the last one of this action:", *lines])]
    shown = {**stored.shown, **({"forecast": body["forecast"]} if "forecast" in body else {})}
    return sections(signatures(text), *since, _plan(shown))


def signatures(text: str) -> Printout:
    """Return who has stored and approved a plan, and what was started from it."""
    plan = decode(text, entities.plans.ListedPlan)
    about = [
        ("Stored:", f"plan/{plan.id}"),
        ("Hash:", plan.digest),
        ("By:", f"{plan.stored_by} at {to_the_second(plan.stored_at)}"),
        *(
            ("Approved:", f"{given.by} at {to_the_second(given.at)}{f': {given.reason}' if given.reason else ''}")
            for given in plan.signatures
        ),
        *([("Started:", f"action/{plan.action}")] if plan.action else []),
    ]
    return sections(fields(about))


def stored_plans(text: str) -> Printout:
    """Return the list of stored plans."""
    rows = [
        (
            f"plan/{plan.id}",
            plan.name,
            f"{plan.stored_by} {to_the_second(plan.stored_at)}",
            ", ".join(signature.by for signature in plan.signatures) or "-",
            f"action/{plan.action}" if plan.action else "-",
        )
        for plan in decode(text, entities.plans.PlanList).plans
    ]
    return sections(table(rows, _STORED) if rows else "There are no stored plans.")


def _plan(plan: JsonObject) -> Printout:
    subject = (
        f"action/{plan['retry']}, again" if plan.get("retry") else str(plan.get("version") or _OLDER).replace("_", "-")
    )
    skipped = list_at(plan, "left_alone")
    totals, refused = counts_at(plan, "totals"), object_at(plan, "refused")
    about = [
        ("Plan:", plan.get("name")),
        ("Of:", subject),
        ("Revision:", plan.get("revision")),
        ("Groups:", "{}, {} critical".format(*(required(totals, name) for name in ("groups", "critical_groups")))),
        ("Nodes:", _nodes(totals, skipped)),
        *_changes(object_at(plan, "changes")),
        *(
            ("Held:", f"node/{hold.node}: {held(hold)}")
            for hold in as_entity(plan.get("held") or [], list[entities.holds.Hold])
        ),
        ("At Once:", _mode(object_at(plan, "mode"))),
        ("Refused:", f"{refused.get('title')}: {refused.get('reason')}" if refused else "no"),
    ]
    groups = as_objects(required(plan, "groups"), "groups")
    parts: list[TextTable | str | Printout] = [
        fields(about),
        *_values(object_at(plan, "changes")),
        tree(groups, objects_at(plan, "deploy_steps"), skipped, objects_at(plan, "clean_steps")),
    ]
    parts += forecast_tables.parts(object_at(plan, "forecast")) if plan.get("forecast") else []
    parts.append(table([(number, step) for number, step in enumerate(list_at(plan, "steps"), 1)], ("Index", "Step")))
    parts += [*stage(plan), *tasks(plan)]
    parts += drains(objects_at(plan, "drains"))
    reasons = objects_at(refused, "messages")
    lines = message_lines([*reasons, *(finding for finding in objects_at(plan, "findings") if finding not in reasons)])
    if lines:
        parts.append("\n".join(lines))
    return sections(*parts)


def summary(text: str) -> Printout:
    """Return a plan in short: totals, groups and findings."""
    body = parse_object(text)
    totals = counts_at(body, "totals")
    groups, critical, nodes = (required(totals, name) for name in ("groups", "critical_groups", "nodes"))
    about = f"Plan: {groups} groups, {critical} critical; {nodes} nodes; at once: {_mode(object_at(body, 'mode'))}"
    shown = _groups(as_objects(required(body, "groups"), "groups"))
    headers = shown.headers[:-1]
    rows = [row[:-1] for row in shown.rows]
    lines = message_lines(objects_at(body, "findings"))
    return sections(about, table(rows, headers, gap=_SUMMARY_GAP), *(["\n".join(lines)] if lines else []))


def _nodes(totals: Mapping[str, int], skipped: Sequence[object]) -> str:
    sent, kept = (int(required(totals, name)) for name in ("sent", "kept"))
    parts = [f"{number} {words}" for number, words in ((kept, "kept"), (len(skipped), "already deployed")) if number]
    if sent or not parts:
        parts.insert(0, f"{sent} sent")
    return f"{required(totals, 'nodes')}: {', '.join(parts)}"


def _changes(changes: JsonObject) -> Sequence[tuple[str, str]]:
    counts = object_at(changes, "counts")
    rows = [("Classes:", ", ".join(f"{number} {name}" for name, number in counts.items()))] if counts else []
    rows += [("Added:", listed(list_at(changes, "added")))] if list_at(changes, "added") else []
    for name in _CLASSES:
        nodes = [entry for entry in objects_at(changes, "nodes") if entry.get("class") == name]
        aspects = sorted({str(aspect) for entry in nodes for aspect in list_at(entry, "aspects")})
        why = f" ({', '.join(aspects)})" if aspects else ""
        rows += [(f"{name.title()}:", f"{listed([entry.get('name') for entry in nodes])}{why}")] if nodes else []
        if name == "unknown" and nodes:
            rows.append(("To Adopt:", f"shipyard node adopt {','.join(str(entry.get('name')) for entry in nodes)}"))
    removed = ",".join(map(str, list_at(changes, "removed")))
    if removed:
        rows.append(("Not In Design:", listed(list_at(changes, "removed"))))
        rows.append(("To Remove:", f"shipyard create action remove_server --param=target_nodes={removed}"))
    return rows


def _values(changes: JsonObject) -> Sequence[TextTable | str]:
    """Return the values that differ, each with the nodes and the documents that it concerns."""
    rows = [
        (
            required(value, "aspect"),
            required(value, "path"),
            required(value, "old"),
            required(value, "new"),
            listed(list_at(value, "nodes")),
            _places(value),
        )
        for value in objects_at(changes, "values")
    ]
    shown: list[TextTable | str] = [table(rows, ("Aspect", "Value", "Old", "New", "Nodes", "From"))] if rows else []
    if uncompared := changes.get("uncompared"):
        shown.append(f"{uncompared} more nodes differ; their values are not listed.")
    return shown


def _places(value: JsonObject) -> str:
    """Return the document and line where a value was written; without it, the documents that have it."""
    written = [f"{place.get('name')} line {place.get('line')}" for place in objects_at(value, "written")]
    return ", ".join(written or [str(document.get("name")) for document in objects_at(value, "documents")])


def _groups(groups: Sequence[JsonObject]) -> TextTable:
    rows = [
        (
            group.get("order") or "never",
            required(group, "name"),
            "yes" if group.get("critical") else "no",
            ", ".join(map(str, list_at(group, "depends_on"))),
            needs(group),
            _count(group),
            listed(list_at(group, "nodes")),
        )
        for group in groups
    ]
    return table(rows, ("Order", "Group", "Critical", "Depends On", "Needs", "Nodes", "Names"), gap=4)


def _count(group: JsonObject) -> str:
    sent, nodes = len(list_at(group, "sends")), len(list_at(group, "nodes"))
    return str(nodes) if sent == nodes else f"{sent} of {nodes}"


def _mode(mode: JsonObject) -> str:
    if not mode:
        return "nothing is deployed"
    groups, nodes = required(mode, "max_parallel_groups"), required(mode, "max_nodes_in_flight")
    parts = [f"{groups} group{'s' * (groups != 1)}", f"{nodes} nodes" if nodes else "any number of nodes"]
    if required(mode, "deploy_as_prepared"):
        parts.append("each node deployed as soon as it is prepared")
    return ", ".join(parts)
