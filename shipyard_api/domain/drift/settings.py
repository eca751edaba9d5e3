"""Compare the boards of deployed nodes with what the design wants: BIOS settings, firmware (product, section 8)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shipyard_api.domain.deploy_steps.planning import RequestedSteps
from shipyard_api.domain.deploy_steps.templates import Interface, StepKey
from shipyard_api.domain.drift.differences import Difference, Kind
from shipyard_api.domain.drift.observations import LeftNode
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import run_steps

APPLIES = StepKey(Interface.BIOS, "apply_configuration")


class Wanted(NamedTuple):
    """The value that something should have. ``by``: the parameter of service_server that gives it the value."""

    value: str
    by: str


WantedValues = Mapping[NodeName, Mapping[str, Wanted]]
"""The wanted values of each node, by the name of the setting or the component."""


def wanted_settings(requested: RequestedSteps) -> WantedValues:
    """Return the settings that the templates of each node set, by name; only nodes that have any.

    Of two templates, the one whose step runs last decides, as on the node.
    """
    wanted: defaultdict[NodeName, dict[str, Wanted]] = defaultdict(dict)
    for node, steps in requested.items():
        for template, step in sorted(steps, key=lambda entry: -entry.step.priority):
            written = step.args.get("settings") if step.key == APPLIES and step.priority > 0 else None
            for entry in written if isinstance(written, list) else ():
                if isinstance(entry, Mapping) and "name" in entry:
                    wanted[node][str(entry["name"])] = Wanted(str(entry.get("value")), f"template={template}")
    return wanted


def of_boards(
    left: Iterable[LeftNode], wanted: WantedValues, seen: Mapping[NodeName, Mapping[str, str]], kind: Kind
) -> Sequence[Difference]:
    """Return how boards differ, in order of node, one difference for each service that puts them right, with its
    command. ``seen``: the values of nodes; a node that is missing there is not compared.
    """
    return [
        Difference(node.name, kind, expected, f"{actual}: {_way_back(by, node.name)}", node.since)
        for node in sorted(left, key=lambda left_node: left_node.name)
        if node.name in seen
        for by, expected, actual in _changed(wanted.get(node.name, {}), seen[node.name])
    ]


def _changed(wanted: Mapping[str, Wanted], seen: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    changed: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(wanted):
        if seen.get(name) != wanted[name].value:
            changed[wanted[name].by].append(name)
    for by, names in changed.items():
        expected = ", ".join(f"{name}={wanted[name].value}" for name in names)
        actual = ", ".join(f"{name}={seen[name]}" if name in seen else f"no {name}" for name in names)
        yield by, expected, actual


def _way_back(by: str, node: NodeName) -> str:
    name, _, value = by.partition("=")
    return run_steps(name, value, node)
