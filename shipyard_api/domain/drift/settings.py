"""Compare the BIOS settings of deployed nodes with those that their deploy templates set (product, section 8)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shipyard_api.domain.deploy_steps.planning import RequestedSteps
from shipyard_api.domain.deploy_steps.templates import Interface, StepKey
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.drift.differences import Difference, Kind
from shipyard_api.domain.drift.observations import LeftNode
from shipyard_api.domain.nodes import NodeName

APPLIES = StepKey(Interface.BIOS, "apply_configuration")


class Wanted(NamedTuple):
    """The value that a template gives a setting."""

    value: str
    template: TraitName


def wanted_settings(requested: RequestedSteps) -> Mapping[NodeName, Mapping[str, Wanted]]:
    """Return the settings that the templates of each node set, by name; only nodes that have any.

    Of two templates, the one whose step runs last decides, as on the node.
    """
    found: defaultdict[NodeName, dict[str, Wanted]] = defaultdict(dict)
    for node, steps in requested.items():
        for template, step in sorted(steps, key=lambda one: -one.step.priority):
            written = step.args.get("settings") if step.key == APPLIES and step.priority > 0 else None
            for one in written if isinstance(written, list) else ():
                if isinstance(one, Mapping) and "name" in one:
                    found[node][str(one["name"])] = Wanted(str(one.get("value")), template)
    return found


def of_settings(
    left: Iterable[LeftNode],
    wanted: Mapping[NodeName, Mapping[str, Wanted]],
    seen: Mapping[NodeName, Mapping[str, str]],
) -> Sequence[Difference]:
    """Return how settings differ, in order of node, one difference for each template, with the way to set them again.

    ``seen``: the settings of nodes; a node that is missing there is not compared.
    """
    return [
        Difference(node.name, Kind.SETTINGS, expected, f"{found}: {_way_back(template, node.name)}", node.since)
        for node in sorted(left, key=lambda one: one.name)
        if node.name in seen
        for template, expected, found in _changed(wanted.get(node.name, {}), seen[node.name])
    ]


def _changed(wanted: Mapping[str, Wanted], seen: Mapping[str, str]) -> Iterable[tuple[TraitName, str, str]]:
    changed: defaultdict[TraitName, list[str]] = defaultdict(list)
    for name in sorted(wanted):
        if seen.get(name) != wanted[name].value:
            changed[wanted[name].template].append(name)
    for template, names in changed.items():
        expected = ", ".join(f"{name}={wanted[name].value}" for name in names)
        found = ", ".join(f"{name}={seen[name]}" if name in seen else f"no {name}" for name in names)
        yield template, expected, found


def _way_back(template: TraitName, node: NodeName) -> str:
    return f"shipyard create action service_server --param=template={template} --param=target_nodes={node}"
