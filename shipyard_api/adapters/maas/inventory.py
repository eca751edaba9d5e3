"""The hardware of machines: from MAAS's list of machines, and what only each machine's details have.

MAAS lists processors, memory, disks and network cards of all machines in one answer. Sockets, memory modules, drivers,
accelerators and LLDP neighbours are in the details of a machine, a request each, and do not change until the machine is
commissioned again.
"""

from collections.abc import Collection, Mapping

import msgspec

from shipyard_api.domain.hardware import inspections
from shipyard_api.domain.hardware.seen import Aspect, Disk, KeptReadings, Nic, NotSeen, SeenHardware, SeenNodes
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import MOST_REQUESTS

from .client import MaasClient
from .translate import hostname

FIELDS = (
    "system_id",
    "hostname",
    "status",
    "current_commissioning_result_id",
    "cpu_count",
    "memory",
    "physicalblockdevice_set",
    "interface_set",
    "hardware_info",
)
"""The fields that are read of a machine in a list."""

_DETAILS = frozenset({Aspect.SOCKETS, Aspect.MODULES, Aspect.DRIVERS, Aspect.ACCELERATORS, Aspect.CABLING})
_NEW = 0
_MIB = 1024 * 1024


class Inventories:
    """Reads the hardware of machines. Safe for threads."""

    def __init__(self, client: MaasClient) -> None:
        self._client = client
        self._kept: KeptReadings[SeenHardware] = KeptReadings()

    def __call__(self, nodes: Collection[NodeName], aspects: frozenset[Aspect]) -> SeenNodes:
        """Return the hardware of nodes; see ``ReadInventory``."""
        names = {hostname(node): node for node in nodes}
        with_details = bool(_DETAILS & aspects)
        if with_details:  # a machine is 18 kB in a list: only those that this reading reaches are listed
            others = sorted(name for name in names if name not in self._kept)[: MOST_REQUESTS - 1]
            names = {name: names[name] for name in (*others, *(name for name in names if name in self._kept))}
        listed = {str(entry.get("hostname")).lower(): entry for entry in self._client.hardware(names, FIELDS)}
        room = MOST_REQUESTS - self._client.requests_for(names)
        found: dict[NodeName, SeenHardware | NotSeen] = {}
        for name, node in sorted(names.items()):
            entry = listed.get(name)
            if entry is None:
                found[node] = NotSeen("MAAS has no machine of this name")
            elif not entry.get("current_commissioning_result_id") and entry.get("status") == _NEW:
                found[node] = NotSeen("MAAS has not commissioned it yet")
            elif not with_details:
                found[node] = of_list(entry)
            else:
                seen, ident = of_list(entry), str(entry.get("system_id"))
                version = f"{ident} {entry.get('current_commissioning_result_id')}"
                details = self._kept.of(name, version)
                if details is None and room > 0:
                    room -= 1
                    details = self._client.details(ident, of_details)
                    self._kept.keep(name, version, details)
                if details is not None:
                    found[node] = _joined(seen, details)
        return found


def of_list(entry: JsonObject) -> SeenHardware:
    """Return the hardware of a machine as the list shows it."""
    info = inspections.mapping(entry.get("hardware_info"))
    disks = [_disk(each) for each in inspections.mappings(entry.get("physicalblockdevice_set"))]
    nics = [_nic(each) for each in inspections.mappings(entry.get("interface_set")) if each.get("type") == "physical"]
    vendor, product = _known(info.get("system_vendor")), _known(info.get("system_product"))
    return SeenHardware(
        cpu_model=_known(info.get("cpu_model")),
        threads=inspections.number(entry.get("cpu_count")),
        memory=inspections.number(entry.get("memory")) * _MIB,
        disks=tuple(disks) or None,
        nics=tuple(nics) or None,
        model=f"{vendor} {product}".strip(),
        firmware=_known(info.get("mainboard_firmware_version")),
    )


def of_details(details: Mapping[str, bytes]) -> SeenHardware:
    """Return the hardware of a machine as its details show it; nothing if they cannot be read."""
    texts = {name: content.decode("utf-8", "replace") for name, content in details.items()}
    return inspections.hardware(texts.get("lshw", ""), texts.get("lldp", "")) or SeenHardware()


def _joined(listed: SeenHardware, details: SeenHardware) -> SeenHardware:
    """Return both: the list is newer, and counts disks as MAAS names them."""
    drivers = {nic.name: nic.driver for nic in details.nics or ()}
    nics = [msgspec.structs.replace(nic, driver=drivers.get(nic.name, "")) for nic in listed.nics or ()]
    return msgspec.structs.replace(
        listed,
        sockets=details.sockets,
        cores=details.cores,
        modules=details.modules,
        nics=tuple(nics) or details.nics,
        accelerators=details.accelerators,
        neighbours=details.neighbours,
    )


def _disk(entry: JsonObject) -> Disk:
    name, words = _known(entry.get("name")), set(map(str, inspections.items(entry.get("tags"))))
    kind = "nvme" if name.startswith("nvme") else "ssd" if "ssd" in words else "hdd" if "rotary" in words else ""
    return Disk(name, inspections.number(entry.get("size")), kind)


def _nic(entry: JsonObject) -> Nic:
    link = inspections.number(entry.get("link_speed")) if entry.get("link_connected") else 0
    speed = link or inspections.number(entry.get("interface_speed"))
    return Nic(_known(entry.get("name")), _known(entry.get("mac_address")).lower(), speed)


def _known(value: object) -> str:
    """Return a text; MAAS writes Unknown where it knows none."""
    return "" if value == "Unknown" else inspections.text(value)
