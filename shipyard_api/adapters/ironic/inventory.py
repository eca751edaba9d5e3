"""The hardware of nodes, from Ironic's inspection data.

Ironic lists no inventories: each node is a request, and its inventory does not change until it is inspected again.
Only the memory of all nodes is in the list of nodes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from shipyard_api.domain.hardware import inspections
from shipyard_api.domain.hardware.seen import (
    Aspect,
    Disk,
    KeptReadings,
    Neighbour,
    Nic,
    NotSeen,
    SeenHardware,
    SeenNodes,
)
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import MOST_REQUESTS

from .client import LARGEST_PAGE, IronicClient

FIELDS = ("uuid", "name", "inspection_finished_at", "properties")
"""The fields that are read of a node in the list."""

_LISTED = frozenset({Aspect.MEMORY})
_BMC = "bmc"
_MIB = 1024 * 1024
_LEAST = 5  # nodes that each reading reaches, however long the list is


class Inventories:
    """Reads the hardware of nodes. Safe for threads."""

    def __init__(self, client: IronicClient) -> None:
        self._client = client
        self._kept: KeptReadings[SeenHardware | NotSeen] = KeptReadings()

    def __call__(self, nodes: Collection[NodeName], aspects: frozenset[Aspect]) -> SeenNodes:
        """Return the hardware of nodes; see ``ReadInventory``."""
        listed = self._listed(nodes)
        with_bmc = Aspect.BMC in aspects
        pages = 1 if len(nodes) == 1 else 1 + len(listed) // LARGEST_PAGE
        room = max(MOST_REQUESTS - pages, _LEAST) // (2 if with_bmc else 1)
        found: dict[NodeName, SeenHardware | NotSeen] = {}
        for node in sorted(nodes):
            entry = listed.get(node)
            inspected = entry.get("inspection_finished_at") if entry else None
            if entry is None:
                found[node] = NotSeen("Ironic has no node of this name")
            elif not inspected:
                found[node] = NotSeen("Ironic has not inspected it yet")
            elif aspects <= _LISTED:
                memory = inspections.number(inspections.mapping(entry.get("properties")).get("memory_mb")) * _MIB
                found[node] = SeenHardware(memory=memory)
            else:
                uuid, version = str(entry.get("uuid")), f"{inspected} {with_bmc}"
                kept = self._kept.of(uuid, version)
                if kept is None and room > 0:
                    room -= 1
                    kept = self._read(uuid, with_bmc=with_bmc)
                    self._kept.keep(uuid, version, kept)
                if kept is not None:
                    found[node] = kept
        return found

    def _listed(self, nodes: Collection[NodeName]) -> Mapping[str, JsonObject]:
        if len(nodes) == 1:
            (name,) = nodes
            entry = self._client.node(name, FIELDS)
            return {} if entry is None else {name: entry}
        return {str(entry.get("name")): entry for entry in self._client.nodes(FIELDS)}

    def _read(self, uuid: str, *, with_bmc: bool) -> SeenHardware | NotSeen:
        answer = self._client.inventory(uuid)
        if answer is None:
            return NotSeen("Ironic keeps no inventory of it")
        seen = of_inventory(answer)
        if not with_bmc:
            return seen
        versions = {str(row.get("component")): row.get("current_version") for row in self._client.firmware(uuid)}
        return msgspec.structs.replace(seen, bmc_version=str(versions.get(_BMC) or ""))


def of_inventory(answer: JsonObject) -> SeenHardware:
    """Return the hardware in the inspection data of a node."""
    inventory, plugins = inspections.mapping(answer.get("inventory")), inspections.mapping(answer.get("plugin_data"))
    cpu, memory = inspections.mapping(inventory.get("cpu")), inspections.mapping(inventory.get("memory"))
    vendor = inspections.mapping(inventory.get("system_vendor"))
    names = inspections.text(vendor.get("manufacturer")), inspections.text(vendor.get("product_name"))
    disks, nics = inventory.get("disks"), inventory.get("interfaces")
    return SeenHardware(
        cpu_model=inspections.text(cpu.get("model_name")),
        sockets=inspections.number(cpu.get("socket_count")),
        threads=inspections.number(cpu.get("count")),
        memory=inspections.number(memory.get("physical_mb")) * _MIB or inspections.number(memory.get("total")),
        disks=None if disks is None else tuple(map(_disk, inspections.mappings(disks))),
        nics=None if nics is None else tuple(map(_nic, inspections.mappings(nics))),
        neighbours=dict(_neighbours(inspections.mappings(nics), plugins)) or None,
        model=" ".join(filter(None, names)),
        firmware=inspections.text(inspections.mapping(vendor.get("firmware")).get("version")),
    )


def _neighbours(nics: Iterable[JsonObject], plugins: JsonObject) -> Iterator[tuple[str, Neighbour]]:
    """Yield the neighbour of each card: as a hook parsed it, as an older release wrote it, or from the raw fields."""
    cards = inspections.mapping(plugins.get("all_interfaces"))
    older = {name: inspections.mapping(card).get("lldp_processed") for name, card in cards.items()}
    raw = {str(nic.get("name")): nic.get("lldp") for nic in nics} | {**inspections.mapping(plugins.get("lldp_raw"))}
    sources: list[tuple[Mapping[str, Any], Callable[[Any], Neighbour | None], type]] = [
        (raw, inspections.of_fields, list),
        (older, inspections.of_names, dict),
        (inspections.mapping(plugins.get("parsed_lldp")), inspections.of_names, dict),
    ]
    for by_card, read, kind in sources:
        for name, content in by_card.items():
            if isinstance(content, kind) and (neighbour := read(content)):
                yield name, neighbour


def _disk(entry: JsonObject) -> Disk:
    name = inspections.text(entry.get("name")).rpartition("/")[2]
    rotates = entry.get("rotational")
    kind = "nvme" if name.startswith("nvme") else "" if rotates is None else "hdd" if rotates else "ssd"
    return Disk(name, inspections.number(entry.get("size")), kind)


def _nic(entry: JsonObject) -> Nic:
    name, mac = inspections.text(entry.get("name")), inspections.text(entry.get("mac_address")).lower()
    return Nic(name, mac, inspections.number(entry.get("speed_mbps")), inspections.text(entry.get("driver")))
