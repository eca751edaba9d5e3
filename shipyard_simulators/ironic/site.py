"""The nodes of a site design, as an operator would enrol them in Ironic."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import yaml

from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.node import HOST
from shipyard_simulators.ironic.node_resources import create_node
from shipyard_simulators.ironic.operations import store_inventory
from shipyard_simulators.ironic.states import AIMLESS, LOCKED, STABLE

_NODE, _PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"
MACHINE_STATES: Mapping[str, str] = MappingProxyType(
    {
        "New": "enroll",
        "Commissioning": "inspecting",
        "Failed commissioning": "inspect failed",
        "Testing": "cleaning",
        "Failed testing": "clean failed",
        "Ready": "available",
        "Allocated": "available",
        "Deploying": "deploying",
        "Deployed": "active",
        "Failed deployment": "deploy failed",
        "Releasing": "deleting",
        "Releasing failed": "error",
        "Failed disk erasing": "clean failed",
        "Broken": "error",
    }
)
"""The Ironic states of the machines in a scenario, which uses MAAS's words."""
_TAKEN = {"Allocated", "Deploying", "Deployed", "Failed deployment", "Releasing"}


# Ten times as fast as the other one: a site may have 10,000 documents.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SiteUnreadable(ValueError):
    """A file that is not a YAML stream."""


@dataclass(slots=True)
class SiteNode:
    """A node of the design."""

    name: str
    tags: set[str] = field(default_factory=set)
    rack: str | None = None
    labels: dict[str, Any] = field(default_factory=dict)


def read_site(path: Path) -> list[SiteNode]:
    """Return the nodes of the design in the file, by name. Raises SiteUnreadable."""
    try:
        documents = list(yaml.load_all(path.read_text(encoding="utf-8"), _LOADER))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise SiteUnreadable(f"{path} cannot be read: {' '.join(str(cause).split())}") from cause
    named: dict[str, dict[str, dict[str, Any]]] = {_NODE: {}, _PROFILE: {}}
    for document in documents:
        if isinstance(document, dict) and document.get("schema") in named:
            name = str(_mapping(document.get("metadata")).get("name"))
            named[document["schema"]][name] = _mapping(document.get("data"))
    return [_merged(name, data, named[_PROFILE]) for name, data in sorted(named[_NODE].items())]


def enrol(conductor: Conductor, nodes: Iterable[SiteNode], *, driver: str, state: str) -> None:
    """Add the nodes in this state, except where the scenario sets another one."""
    for each in nodes:
        tags = sorted(each.tags)
        extra: dict[str, Any] = {"tags": tags, "labels": each.labels}
        if each.rack:
            extra["rack"] = each.rack
        node = create_node(
            conductor,
            {
                # A node has the same UUID in every run.
                "uuid": str(uuid5(NAMESPACE_URL, f"node:{each.name}")),
                "name": each.name,
                "driver": driver,
                "resource_class": "baremetal",
                "extra": extra,
                "driver_info": {"address": f"oob-{each.name}", "username": "admin", "password": "simulated"},
            },
        )
        if parts := conductor.scenario.parts(each.name):
            store_inventory(conductor, node, parts)
        node.values["traits"] = [_trait(tag) for tag in tags]
        status = conductor.scenario.machines.get(each.name, "")
        claim = str(uuid5(NAMESPACE_URL, f"another:{each.name}")) if status in _TAKEN else None
        put(conductor, node.uuid, {"provision_state": MACHINE_STATES.get(status, state), "instance_uuid": claim})


def put(conductor: Conductor, ident: str, values: Mapping[str, Any]) -> None:
    """Set fields of a node that no request could set, and cancel its operation."""
    node = conductor.registry.node(ident)
    for kind in ("state", "power", "lock"):
        conductor.end(node, kind)
    before = node.state
    node.values.update(values)
    state = node.state
    node.values["reservation"] = values.get("reservation", HOST if state in LOCKED else None)
    if state != before:
        node.values["provision_updated_at"] = conductor.stamp()
        conductor.note("node_state", node, before=before, state=state, cause="put")
    if state in STABLE:
        node.values["target_provision_state"] = None
        if state not in ("enroll",) and node.has_agent and node.values["power_state"] is None:
            node.values["power_state"] = "power on" if state == "active" else "power off"
    elif "target_provision_state" not in values:
        node.values["target_provision_state"] = None if state in AIMLESS else _target(state)


def _target(state: str) -> str:
    if state.startswith(("inspect", "adopt")):
        return "manageable"
    return "available" if state.startswith("clean") or state == "deleting" else "active"


def _merged(name: str, data: Mapping[str, Any], profiles: Mapping[str, Mapping[str, Any]]) -> SiteNode:
    chain, seen = [data], set[str]()
    profile = data.get("host_profile")
    while isinstance(profile, str) and profile in profiles and profile not in seen:
        seen.add(profile)
        chain.append(profiles[profile])
        profile = profiles[profile].get("host_profile")
    node = SiteNode(name)
    for level in reversed(chain):  # the most general profile first, so that more specific ones override it
        metadata = _mapping(level.get("metadata"))
        node.tags |= {str(tag) for tag in metadata.get("tags") or () if isinstance(tag, str)}
        node.rack = metadata["rack"] if isinstance(metadata.get("rack"), str) else node.rack
        node.labels |= _mapping(metadata.get("owner_data"))
    return node


def _trait(tag: str) -> str:
    return "CUSTOM_TAG_" + re.sub(r"[^A-Z0-9_]", "_", tag.upper())


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
