"""The ways back: actions that give deployed nodes what they lack, and commands that bring servers back (ADR 0046).

Report, overview, page, the warnings of plans, and the comparison of a site with its peers ask it.
"""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, ActionName, is_listed
from shipyard_api.domain.json_types import are_texts
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import STEPS
from shipyard_api.domain.specification.impact import Impact, class_of

_RELABEL = Impact.RELABEL


class Way(Enum):
    """How a node gets what it lacks, by what interrupts least; the values are the names of actions."""

    RELABEL = "relabel_nodes"
    SERVICE = "service_server"
    REDEPLOY = "redeploy_server"


class Remedy(Struct, frozen=True):
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
    impact = class_of(aspects, services=services)
    steps = [aspect for aspect in aspects if aspect.startswith(STEPS)]
    relabelled = [(Way.RELABEL, "")] if class_of(set(aspects).difference(steps), services=services) is _RELABEL else []
    if impact in (_RELABEL, Impact.SERVICE):
        return [*relabelled, *((Way.SERVICE, aspect.removeprefix(STEPS)) for aspect in steps)]
    return [(Way.REDEPLOY, "")]


def retry(action: ActionId) -> str:
    """Return the command that goes on with an ended action where it failed."""
    return f"shipyard retry {action}"


def uncordon(node: str) -> str:
    """Return the command that takes the cordon alone back."""
    return f"shipyard node uncordon {node}"


def bring_back(node: str, action: ActionId, name: ActionName) -> str:
    """Return the command that brings back a server which the action took down."""
    return retry(action) if is_listed(name) else bring_in(node)


def bring_in(node: str) -> str:
    """Return the command that brings a deployed server back into the cluster that it was taken out of."""
    return command(Way.REDEPLOY.value, {"target_nodes": node})


def run_steps(parameter: str, value: str, node: str) -> str:
    """Return the command that runs steps on a deployed server, such as those of a template."""
    return command(Way.SERVICE.value, {parameter: value, "target_nodes": node})


def deploy_again() -> str:
    """Return the command that deploys the servers of the design which were taken down for good."""
    return command("update_site", {})


def take_down(node: str) -> str:
    """Return the command that takes down a server which the design no longer has."""
    return command("remove_server", {"target_nodes": node})


def command(action: str, parameters: Mapping[str, Any]) -> str:
    """Return the command that creates an action."""
    written = (f"--param={shlex.quote(f'{name}={_text(value)}')}" for name, value in parameters.items())
    return " ".join(["shipyard create action", action, *written])


def _text(value: Any) -> str:
    if are_texts(value):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value)
