"""The failures of an action, as lines: each cause once, with its consequences below. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shipyard_api.cli.output.node_names import listed
from shipyard_api.cli.output.shapes import JsonObject
from shipyard_api.cli.output.snapshot import Snapshot
from shipyard_api.cli.output.wording import printable, reason_text


@dataclass(frozen=True, slots=True)
class FailureLine:
    """A line about a failure. ``depth``: 0 for a cause, 1 for what belongs to the cause above it."""

    text: str
    depth: int = 0


def failure_lines(snapshot: Snapshot) -> list[FailureLine]:
    """Return the failures in run order: a failed group, its nodes that failed or that the rollout policy stopped, the
    groups that failed with it.

    Such nodes of groups that have not failed follow, then failed steps with a detail, unless groups say why. Nodes
    with the same reason share a line.
    """
    failed = [group for group in snapshot.groups_in_order if group.get("status") == "failed"]
    causes = _causes(failed)
    nodes: dict[object, list[JsonObject]] = {}
    for node in (*snapshot.failed_nodes, *snapshot.stopped_nodes):
        nodes.setdefault(node.get("group"), []).append(node)
    lines = []
    for group in failed:
        name = group.get("name")
        if causes[name] != name:
            continue
        lines.append(FailureLine(f"group {printable(name)}, {reason_text(group.get('reason'), group.get('detail'))}"))
        lines += [FailureLine(text, 1) for text in _node_texts(nodes.pop(name, ()))]
        dependents = [other for other, cause in causes.items() if cause == name and other != name]
        if dependents:
            text = "depends on it and was not started" if len(dependents) == 1 else "depend on it and were not started"
            lines.append(FailureLine(f"{_names(dependents, 'group')} {text}", 1))
    for group_name, members in nodes.items():
        place = f" of {printable(group_name)}" if group_name else ""
        lines += [FailureLine(text) for text in _node_texts(members, place)]
    for step in snapshot.explained_steps:
        lines.append(FailureLine(f"step {printable(step['id'])}: {printable(step['detail'])}"))
    return lines


def _causes(failed: Sequence[JsonObject]) -> dict[object, object]:
    """Return for each failed group the one whose failure it followed from: itself, or the first by run order."""
    causes: dict[object, object] = {}
    for group in failed:
        parents = group.get("depends_on") or ()
        known = [causes[name] for name in causes if name in parents] if group.get("reason") == "dependency" else []
        causes[group.get("name")] = known[0] if known else group.get("name")
    return causes


def _node_texts(nodes: Iterable[JsonObject], place: str = "") -> list[str]:
    by_reason: dict[str, list[object]] = {}
    for node in nodes:
        # Provisioners repeat the name of the node; without it, the same reason is one line.
        detail = str(node.get("detail") or "").removeprefix(f"Node {node.get('name')}: ")
        by_reason.setdefault(reason_text(node.get("reason"), detail), []).append(node.get("name"))
    return [f"{_names(names, 'node')}{place}, {reason}" for reason, names in by_reason.items()]


def _names(names: Sequence[object], noun: str) -> str:
    return f"{noun}{'s' * (len(names) > 1)} {listed(names)}"
