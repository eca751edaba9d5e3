"""Nodes as an inventory of Ansible: the JSON that its inventory scripts print. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shipyard_api.cli.output.shapes import JsonObject, list_at, object_at, objects_at, required

NOT_STARTED = "not_started"
"""The status of a node that no action has worked on."""


class InventoryError(Exception):
    """The design does not make an inventory; the text says why, and what to do."""


def inventory(
    plan: JsonObject, nodes: Sequence[JsonObject], statuses: Mapping[str, str], network: str | None
) -> dict[str, Any]:
    """Return the inventory of a site.

    ``plan``: of an action on the whole site; its groups are the deployment groups. ``nodes``: with their roles, tags
    and designs. ``statuses``: of the nodes that had an action. ``network``: whose addresses Ansible connects to.
    Raises InventoryError and ShapeError.
    """
    groups_of: dict[str, list[str]] = defaultdict(list)
    for group in objects_at(plan, "groups"):
        for name in list_at(group, "nodes"):
            groups_of[str(name)].append(str(required(group, "name")))
    hosts = {
        str(required(node, "name")): _host(node, groups_of[str(node["name"])], statuses.get(str(node["name"])), network)
        for node in nodes
    }
    if network is not None:
        _check_addresses(hosts, network)
    members = _members(hosts)
    return {
        "_meta": {"hostvars": {name: _unsafe(hosts[name]) for name in sorted(hosts)}},
        "all": {"hosts": sorted(hosts), "vars": {"shipyard_revision": plan.get("revision")}},
        **{group: {"hosts": sorted(members[group])} for group in sorted(members)},
    }


def _host(node: JsonObject, groups: Sequence[str], status: str | None, network: str | None) -> dict[str, Any]:
    """Return the variables of a node; its design is null if a commit has just removed it."""
    if "design" not in node:
        raise InventoryError("the server is older than this command: it does not show the design of nodes")
    design = object_at(node, "design")
    addresses = object_at(design, "addresses")
    connects_to = {"ansible_host": addresses[network]} if network is not None and network in addresses else {}
    return connects_to | {
        "shipyard_groups": sorted(groups),
        "shipyard_rack": str(design.get("rack") or ""),
        "shipyard_tags": list_at(design, "tags"),
        "shipyard_labels": object_at(design, "labels"),
        "shipyard_addresses": addresses,
        "shipyard_roles": list_at(node, "roles"),
        "shipyard_software_tags": list_at(node, "tags"),
        "shipyard_status": status or NOT_STARTED,
    }


def _check_addresses(hosts: Mapping[str, JsonObject], network: str) -> None:
    """Raise InventoryError for a network without nodes, and for an address of two nodes.

    A playbook would run twice on one of these, and never on the other.
    """
    if hosts and not any("ansible_host" in host for host in hosts.values()):
        networks = (
            ", ".join(sorted({address for host in hosts.values() for address in host["shipyard_addresses"]})) or "none"
        )
        raise InventoryError(f"no node has an address in the network '{network}'; networks of the design: {networks}")
    owners: dict[str, str] = {}
    for name, host in sorted(hosts.items()):
        address = host.get("ansible_host")
        if address and (other := owners.setdefault(address, name)) != name:
            raise InventoryError(
                f"the nodes '{other}' and '{name}' have the same address {address}: correct one in the design"
            )


def _members(hosts: Mapping[str, JsonObject]) -> Mapping[str, Sequence[str]]:
    members: dict[str, list[str]] = defaultdict(list)
    written: dict[str, str] = dict.fromkeys(hosts, "a node")
    written |= dict.fromkeys(("all", "ungrouped"), "a group of Ansible")
    for name, host in hosts.items():
        for kind, value in _memberships(host):
            group = re.sub(r"[^A-Za-z0-9_]", "_", f"{kind}_{value}")
            source = f"the {kind.replace('_', ' ')} '{value}'"
            if (other := written.setdefault(group, source)) != source:
                raise InventoryError(f"{other} and {source} are both '{group}' in Ansible: rename one of them")
            members[group].append(name)
    return members


def _memberships(host: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the groups of a node as the prefix of their kind and their name in Shipyard."""
    listed: Mapping[str, Iterable[Any]] = {
        "group": host["shipyard_groups"],
        "rack": [host["shipyard_rack"]] if host["shipyard_rack"] else [],
        "tag": host["shipyard_tags"],
        "role": host["shipyard_roles"],
        "software_tag": host["shipyard_software_tags"],
        "status": [host["shipyard_status"]],
    }
    for kind, values in listed.items():
        for value in values:
            yield kind, str(value)


def _unsafe(value: Any) -> Any:
    """Return the value with every text that Ansible would evaluate as a template marked as plain text."""
    if isinstance(value, str):
        return {"__ansible_unsafe": value} if "{{" in value or "{%" in value or "{#" in value else value
    if isinstance(value, dict):
        return {key: _unsafe(inner) for key, inner in value.items()}
    return [_unsafe(inner) for inner in value] if isinstance(value, list) else value
