"""The groups of a plan as a tree: groups in order, their nodes, and the deploy steps of these. Pure."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.shapes import JsonObject, list_at, object_at, objects_at, required
from shipyard_api.cli.output.wording import to_the_second

_CRITERIA = {
    "percent_successful_nodes": "{} % succeed",
    "minimum_successful_nodes": "at least {} succeed",
    "maximum_failed_nodes": "at most {} fail",
}


def needs(group: JsonObject) -> str:
    """Return what the group needs to succeed, in words; "" if nothing."""
    wanted = object_at(group, "success_criteria")
    criteria = ", ".join(text.format(wanted[name]) for name, text in _CRITERIA.items() if wanted.get(name) is not None)
    return criteria if required(group, "can_succeed") else f"{criteria} (impossible)".lstrip()


def tree(
    groups: Sequence[JsonObject],
    steps: Sequence[JsonObject],
    skipped: Sequence[object] = (),
    cleaning: Sequence[JsonObject] = (),
) -> str:
    """Return the tree; nodes that are alike share a line. ``steps``: the deploy steps of a plan, with their nodes;
    ``skipped``: nodes that are already deployed; ``cleaning``: the steps that run before a deployment.

    Below a group are the waves that a rollout policy makes of it, with when they begin.
    Below nodes that the group sends are the steps of their cleaning and of their deployment, and the acceptance tasks
    that they must pass then.
    """
    alone, runs = frozenset(skipped), _Runs(_by_node(cleaning), _by_node(steps))
    return "\n".join(line for group in groups for line in _group(group, runs, alone)) or "Groups: none"


class _Runs(NamedTuple):
    """The steps of nodes, by node: before the deployment, and in it."""

    cleaning: Mapping[object, JsonObject]
    steps: Mapping[object, JsonObject]

    def kind(self, node: object) -> tuple[int, int]:
        """Return the key by which nodes with the same steps are grouped."""
        return id(self.cleaning.get(node)), id(self.steps.get(node))

    def lines(self, node: object) -> Iterable[str]:
        """Return a line for each step, in order."""
        yield from (f"clean {line}" for line in _steps(self.cleaning.get(node, {})))
        yield from _steps(self.steps.get(node, {}))


def _by_node(planned: Sequence[JsonObject]) -> Mapping[object, JsonObject]:
    return {node: entry for entry in planned for node in list_at(entry, "nodes")}


def _group(group: JsonObject, runs: _Runs, skipped: Collection[object]) -> Iterable[str]:
    nodes, sends = list_at(group, "nodes"), frozenset(list_at(group, "sends"))
    order = group.get("order")
    parents = list_at(group, "depends_on")
    about = [f"{order}." if order else "never:", str(required(group, "name"))]
    about += ["(critical)"] if group.get("critical") else []
    about += [f"after {', '.join(map(str, parents))}"] if parents else []
    yield f"{' '.join(about)}: {', '.join(filter(None, (_count(nodes), needs(group))))}"
    yield from map(_wave, objects_at(group, "waves"))
    alike: dict[tuple[bool, bool, tuple[int, int]], list[object]] = {}
    for node in nodes:
        alike.setdefault((node in sends, node in skipped, runs.kind(node)), []).append(node)
    for place, ((sent, idle, _), members) in enumerate(alike.items(), 1):
        last = place == len(alike)
        remark = " (already deployed: nothing to do)" if idle else ""
        remark = remark if sent else " (not sent by this group)"
        yield f"{'`--' if last else '|--'} {listed(members)}{remark}"
        lines = [*runs.lines(members[0]), *_accept(group)] if sent else []
        for number, line in enumerate(lines, 1):
            yield f"{'   ' if last else '|  '} {'`--' if number == len(lines) else '|--'} {line}"


def _wave(wave: JsonObject) -> str:
    nodes, starts = list_at(wave, "nodes"), to_the_second(wave.get("starts"))
    when = f"begins {starts}" if starts else "nothing begins"
    return f"|  wave {required(wave, 'name')}, {when}: {_count(nodes)}: {listed(nodes)}"


def _count(nodes: Sequence[object]) -> str:
    return f"{len(nodes)} node{'s' * (len(nodes) != 1)}"


def _steps(planned: JsonObject) -> Iterable[str]:
    for step in objects_at(planned, "steps"):
        arguments = step.get("args")
        written = json.dumps(arguments, separators=(", ", ": "), ensure_ascii=False) if arguments else ""
        source = f"({step['template']})" if step.get("template") else ""
        parts = (required(step, "priority"), _key(step), written, source)
        yield " ".join(str(part) for part in parts if part != "")
    for step in objects_at(planned, "disabled"):
        yield f"off {_key(step)} ({step.get('template')})"


def _accept(group: JsonObject) -> Iterable[str]:
    tasks = list_at(group, "accept")
    if tasks:
        yield f"accept: {', '.join(map(str, tasks))}"


def _key(step: JsonObject) -> str:
    return f"{required(step, 'interface')}.{required(step, 'step')}"
