"""The actions that give deployed nodes what they lack, and the command of an action (ADR 0046).

Report, overview, page and CLI ask it. The comparison of a site with its provisioner decides by what that shows, and
shares only the command.
"""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification import LABELS, STEPS


class Way(Enum):
    """How a node gets what it lacks, by what interrupts least; the values are the names of actions."""

    RELABEL = "relabel_nodes"
    SERVICE = "service_server"
    REDEPLOY = "redeploy_server"


@dataclass(frozen=True, slots=True)
class Remedy:
    """What gives these nodes what they lack. ``template``: the deploy template whose steps it runs."""

    way: Way
    nodes: tuple[NodeName, ...]
    template: str = ""


def remedies(
    nodes: Sequence[NodeName], differs: Mapping[NodeName, Collection[str]], *, services: bool
) -> Sequence[Remedy]:
    """Return the actions for nodes that were left alone; those that interrupt least come first.

    ``differs``: the aspects in which each differs; nodes without an entry are not known. ``services``: whether the
    provisioner can run steps on deployed nodes.
    """
    found: dict[tuple[Way, str], list[NodeName]] = {}
    for node in nodes:
        for one in _ways(differs.get(node, ()), services=services):
            found.setdefault(one, []).append(node)
    order = list(Way)
    return [
        Remedy(way, tuple(found[way, template]), template)
        for way, template in sorted(found, key=lambda one: (order.index(one[0]), one[1]))
    ]


def _ways(aspects: Collection[str], *, services: bool) -> Sequence[tuple[Way, str]]:
    if set(aspects) == {LABELS}:
        return [(Way.RELABEL, "")]
    if aspects and services and all(aspect.startswith(STEPS) for aspect in aspects):
        return [(Way.SERVICE, aspect.removeprefix(STEPS)) for aspect in aspects]
    return [(Way.REDEPLOY, "")]


def command(action: str, parameters: Mapping[str, Any]) -> str:
    """Return the command that creates an action."""
    written = (f"--param={shlex.quote(f'{name}={_text(value)}')}" for name, value in parameters.items())
    return " ".join(["shipyard create action", action, *written])


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value)
