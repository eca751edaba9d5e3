"""The failures of an action, as lines: each cause once, with its consequences below. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shipyard_api.api.entities.groups import DeploymentGroup
from shipyard_api.api.entities.nodes import Node
from shipyard_api.cli.output.names import listed
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
    failed = [group for group in snapshot.groups_in_order if group.status == "failed"]
    causes = _causes(failed)
    nodes: dict[str | None, list[Node]] = {}
    for node in (*snapshot.failed_nodes, *snapshot.stopped_nodes):
        nodes.setdefault(node.group, []).append(node)
    lines = []
    for group in failed:
        name = group.name
        if causes[name] != name:
            continue
        lines.append(FailureLine(f"group {printable(name)}, {reason_text(group.reason, group.detail)}"))
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


def _causes(failed: Sequence[DeploymentGroup]) -> dict[str, str]:
    """Return for each failed group the one whose failure it followed from: itself, or the first by run order."""
    causes: dict[str, str] = {}
    for group in failed:
        followed = group.reason == "dependency"
        known = [cause for name, cause in causes.items() if followed and name in group.depends_on]
        causes[group.name] = known[0] if known else group.name
    return causes


def _node_texts(nodes: Iterable[Node], place: str = "") -> list[str]:
    by_reason: dict[str, list[object]] = {}
    for node in nodes:
        # Provisioners repeat the name of the node; without it, the same reason is one line.
        detail = node.detail.removeprefix(f"Node {node.name}: ")
        by_reason.setdefault(reason_text(node.reason, detail), []).append(node.name)
    return [f"{_names(names, 'node')}{place}, {reason}" for reason, names in by_reason.items()]


def _names(names: Sequence[object], noun: str) -> str:
    return f"{noun}{'s' * (len(names) > 1)} {listed(names)}"
