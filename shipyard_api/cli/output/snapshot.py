"""An action with its groups and nodes, as the API returned them at one moment."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.api import entities
from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.shapes import JsonObject, as_entity, objects_at, required
from shipyard_api.cli.output.wording import (
    NODE_STATUS_WORDS,
    case_rows,
    clock,
    news,
    parse_time,
    printable,
    reason_text,
    status_words,
    teardown_texts,
    waiting_text,
)

ACTIVE = frozenset({"preparing", "deploying"})
_OF_GROUPS = "drydock_build"
_ENDED = frozenset({"Complete", "Failed"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Entities as in the REST contract; groups and nodes in the server's order."""

    action: JsonObject
    groups: Sequence["entities.groups.DeploymentGroup"] = ()
    nodes: Sequence["entities.nodes.Node"] = ()

    @classmethod
    def of(cls, action: JsonObject, groups: Sequence[object] = (), nodes: Sequence[object] = ()) -> "Snapshot":
        """Return the snapshot of answers. Raises ShapeError if they lack what the views read."""
        for step in objects_at(action, "steps"):
            required(step, "id")
        news(action)
        listed = as_entity(groups, list[entities.groups.DeploymentGroup])
        return cls(action, listed, as_entity(nodes, list[entities.nodes.Node]))

    @property
    def lifecycle(self) -> str:
        """The lifecycle of the action, such as Processing."""
        return str(self.action.get("action_lifecycle") or "Pending")

    @property
    def ended(self) -> bool:
        """True if the action has ended."""
        return self.lifecycle in _ENDED

    @property
    def succeeded(self) -> bool:
        """True if the action has ended with success."""
        return self.lifecycle == "Complete" and self.action.get("verdict", "success") == "success"

    @property
    def steps(self) -> Sequence[JsonObject]:
        """The steps in their order."""
        return self.action.get("steps") or ()

    @property
    def current_step(self) -> JsonObject | None:
        """The step to show: a failed one, else the last running one (a member before its group)."""
        for state in ("failed", "running"):
            matching = [step for step in self.steps if step.get("state") == state]
            members = [step for step in matching if "." in str(step.get("id"))]
            if matching:
                return (members or matching)[-1]
        return None

    @property
    def explained_steps(self) -> Sequence[JsonObject]:
        """The failed steps that say why, without those whose groups say it."""
        by_groups = any(group.status == "failed" for group in self.groups)
        return [
            step
            for step in self.steps
            if step.get("state") == "failed"
            and step.get("detail")
            and not (by_groups and str(step.get("id")).startswith(_OF_GROUPS))
        ]

    @property
    def groups_in_order(self) -> list["entities.groups.DeploymentGroup"]:
        """The groups in run order: those without dependencies, those that only need these, and so on."""
        left = {group.name: group for group in self.groups}
        ordered: list[entities.groups.DeploymentGroup] = []
        while left:
            wave = [group for group in left.values() if left.keys().isdisjoint(group.depends_on)]
            for group in wave or list(left.values()):  # all that are left if they depend on each other
                ordered.append(left.pop(group.name))
        return ordered

    @property
    def node_counts(self) -> Counter[str]:
        """The number of nodes by status."""
        return Counter(node.status for node in self.nodes)

    @property
    def failed_nodes(self) -> list["entities.nodes.Node"]:
        """The nodes that failed, in the server's order."""
        return [node for node in self.nodes if node.status == "failure"]

    @property
    def stopped_nodes(self) -> list["entities.nodes.Node"]:
        """The nodes that the rollout policy stopped, in the server's order."""
        return [node for node in self.nodes if node.reason == "policy"]

    def elapsed(self, now: datetime) -> timedelta | None:
        """Return how long the action has been running, or took; None if the API does not say when it began."""
        began = parse_time(self.action.get("datetime"))
        if began is None:
            return None
        until = now
        if self.ended:
            ends = [parse_time(phase.ended_at) for group in self.groups for phase in group.phases]
            until = parse_time(self.action.get("ended_at")) or max(filter(None, ends), default=now)
        return max(until - began, timedelta())


def change_lines(before: Snapshot | None, after: Snapshot, now: datetime, least: timedelta = timedelta()) -> list[str]:
    """Return one line for each difference between two snapshots: for logs, pipes and screen readers.

    ``least``: the time of the lines before; an action may have ended before it was last seen at work.
    """
    lines = []
    if before is None:
        lines.append(f"action {after.action.get('name')} {after.action.get('id')}")
    lifecycle_changed = before is None or before.lifecycle != after.lifecycle
    if lifecycle_changed and not after.ended:
        lines.append(f"action is {after.lifecycle}")
    waiting = waiting_text(news(after.action).waiting_for)
    if waiting and waiting != (waiting_text(news(before.action).waiting_for) if before else ""):
        lines.append(f"waiting for {waiting}")
    shown = teardown_texts(before.action) if before else {}
    lines += [f"node {node}: {text}" for node, text in teardown_texts(after.action).items() if shown.get(node) != text]
    states = {step.get("id"): step.get("state") for step in before.steps} if before else {}
    lines += [
        f"step {step['id']} is {status_words(step['state'])}"
        for step in after.steps
        if step.get("state") and states.get(step.get("id")) != step["state"]
    ]
    said = {step["id"] for step in before.explained_steps} if before else set()
    lines += [f"step {step['id']} failed: {step['detail']}" for step in after.explained_steps if step["id"] not in said]
    earlier = {group.name: (group.status, group.nodes) for group in before.groups} if before else {}
    for group in after.groups_in_order:
        status, nodes = earlier.get(group.name, ("not_started", {}))
        if status != group.status or (group.status in ACTIVE and nodes != group.nodes):
            lines.append(f"group {group.name} is {_group_line(group)}")
    known = {text for _, text in case_rows(news(before.action))} if before else set()
    lines += [f"{word.lower()} {text}" for word, text in case_rows(news(after.action)) if text not in known]
    failed = {node.name for node in before.failed_nodes} if before else set()
    lines += [
        f"node {node.name} failed ({reason_text(node.reason, node.detail)})"
        for node in after.failed_nodes
        if node.name not in failed
    ]
    stopped = {node.name for node in before.stopped_nodes} if before else set()
    by_rule: dict[str, list[object]] = {}
    for node in after.stopped_nodes:
        if node.name not in stopped:
            by_rule.setdefault(reason_text(node.reason, node.detail), []).append(node.name)
    lines += [f"node{'s' * (len(names) > 1)} {listed(names)} stopped ({rule})" for rule, names in by_rule.items()]
    if lifecycle_changed and after.ended:
        lines.append(f"action is {after.lifecycle}")
    elapsed = after.elapsed(now)
    stamp = clock(max(elapsed, least)) if elapsed is not None else "-"
    return [f"{stamp:>7}  {printable(line)}" for line in lines]


def _group_line(group: "entities.groups.DeploymentGroup") -> str:
    counts = group.nodes
    parts = [f"{counts[status]} {word}" for status, word in NODE_STATUS_WORDS.items() if counts.get(status)]
    line = status_words(group.status)
    if group.status == "failed":
        line += f" ({reason_text(group.reason, group.detail)})"
    total = counts.get("total", 0)
    return f"{line}, {total} node{'s' * (total != 1)}" + (f": {', '.join(parts)}" if parts else "")
