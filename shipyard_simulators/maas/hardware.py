"""The hardware of a machine, as large as in MAAS's documented example: six interfaces, three disks, two NUMA nodes.

MAAS lists each disk twice and the boot disk a third time, and a whole VLAN with each interface: some 16 kB a machine.
The text is made once and filled in for each machine, so that listings stay quick.
"""

import json
import re
from functools import cache
from typing import Any

from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.wire import API
from shipyard_simulators.parts import Parts

INTERFACES, DISKS, NUMA_NODES = 6, 3, 2

_NODE = f"{API}/nodes/@system@"
_BLANK = re.compile(r'"@(\w+)@"|@(\w+)@')  # a whole value, or a part of a text
_DISK_BYTES = 1_000_204_886_016
_VLAN = {
    "vid": 0,
    "mtu": 1500,
    "dhcp_on": True,
    "external_dhcp": None,
    "relay_vlan": None,
    "primary_rack": "rackaa",
    "secondary_rack": None,
    "fabric": "fabric-1",
    "fabric_id": 1,
    "name": "untagged",
    "space": "undefined",
    "id": 5002,
    "resource_uri": f"{API}/vlans/5002/",
}


def hardware_text(machine: Machine, addresses: list[str], parts: Parts | None = None) -> str:
    """Return the hardware fields of a machine, as the inside of a JSON object. ``addresses``: of its boot interface.

    ``parts``: what the scenario gives the machine.
    """
    text = _usual_text(machine, addresses)
    return text if parts is None else _with_parts(machine, json.loads(f"{{{text}}}"), parts)


def addresses_of(machine: Machine, count: int) -> list[str]:
    """Return the MAC addresses of the network cards of a machine."""
    known = machine.mac_addresses
    digits = f"{machine.number >> 8 & 255:02x}:{machine.number & 255:02x}"
    return [*known, *(f"52:54:{each:02x}:00:{digits}" for each in range(len(known), count))]


def _with_parts(machine: Machine, fields: dict[str, Any], parts: Parts) -> str:
    """Return the fields of a machine with other parts; what stands around each part is as in any machine."""
    disk, nic = fields["physicalblockdevice_set"][0], fields["interface_set"][0]
    tags = {"ssd": ["ssd"], "hdd": ["rotary"], "nvme": ["ssd"]}
    disks = [
        {**disk, "name": each.name, "size": each.size, "tags": tags[each.kind], "model": "simulated"}
        for each in parts.disks
    ]
    macs = addresses_of(machine, len(parts.nics))
    nics = [
        {
            **nic,
            "name": each.name,
            "mac_address": mac,
            "link_connected": bool(each.switch),
            "link_speed": each.speed if each.switch else 0,
            "interface_speed": each.speed,
        }
        for each, mac in zip(parts.nics, macs, strict=False)
    ]
    vendor, product = parts.model
    info = {"system_vendor": vendor, "system_product": product, "cpu_model": parts.cpu_model}
    fields |= {
        "boot_interface": nics[0] if nics else None,
        "interface_set": nics,
        "boot_disk": disks[0] if disks else None,
        "blockdevice_set": disks,
        "physicalblockdevice_set": disks,
        "hardware_info": {**fields["hardware_info"], **info, "mainboard_firmware_version": parts.firmware},
    }
    return json.dumps(fields, indent=2).removeprefix("{\n").removesuffix("\n}")


def _usual_text(machine: Machine, addresses: list[str]) -> str:
    first = machine.number * 10
    count = max(INTERFACES, len(machine.mac_addresses))
    macs = addresses_of(machine, count)
    links = [{"id": first, "mode": "static", "ip_address": each} for each in addresses]
    values = {"links": json.dumps(links), "system": machine.system_id, "system!": json.dumps(machine.system_id)}
    values |= {f"mac{each}": json.dumps(mac) for each, mac in enumerate(macs)}
    values |= {str(each): str(first + each) for each in range(count)}
    return _template(count) % values


@cache
def _template(interfaces: int) -> str:
    nics = [_interface(each) for each in range(interfaces)]
    disks = [_disk(each) for each in range(DISKS)]
    fields = {
        "boot_interface": nics[0],
        "interface_set": nics,
        "boot_disk": disks[0],
        "blockdevice_set": disks,
        "physicalblockdevice_set": disks,
        "virtualblockdevice_set": [],
        "numanode_set": [_numa_node(each) for each in range(NUMA_NODES)],
        "hardware_info": _INFO,
    }
    text = json.dumps(fields, indent=2).removeprefix("{\n").removesuffix("\n}")
    return _BLANK.sub(_placeholder, text)


def _placeholder(blank: re.Match[str]) -> str:
    return f"%({blank[1].replace('system', 'system!')})s" if blank[1] else f"%({blank[2]})s"


def _interface(number: int) -> dict[str, Any]:
    return {
        "id": f"@{number}@",
        "name": f"eth{number}",
        "type": "physical",
        "mac_address": f"@mac{number}@",
        "system_id": "@system@",
        "enabled": True,
        "tags": ["sriov"],
        "vlan": _VLAN,
        "links": "@links@" if number == 0 else [],
        "discovered": [],
        "parents": [],
        "children": [],
        "params": "",
        "effective_mtu": 1500,
        "vendor": "Intel Corporation",
        "product": "82576 Gigabit Network Connection",
        "firmware_version": "1.2.3",
        "link_connected": True,
        "link_speed": 1000,
        "interface_speed": 1000,
        "numa_node": number % NUMA_NODES,
        "sriov_max_vf": 7,
        "resource_uri": f"{_NODE}/interfaces/@{number}@/",
    }


def _disk(number: int) -> dict[str, Any]:
    name, boots = f"sd{'abc'[number]}", number == 0
    return {
        "id": f"@{number}@",
        "name": name,
        "type": "physical",
        "system_id": "@system@",
        "model": "ST1000NM0033-9ZM",
        "serial": f"Z1W1QQ4@{number}@",
        "id_path": f"/dev/disk/by-id/wwn-0x5000c5006@{number}@",
        "path": f"/dev/disk/by-dname/{name}",
        "uuid": None,
        "firmware_version": "SN03",
        "size": _DISK_BYTES,
        "block_size": 512,
        "used_size": _DISK_BYTES - 3_891_200 if boots else 0,
        "available_size": 0 if boots else _DISK_BYTES,
        "used_for": "GPT partitioned with 1 partition" if boots else "Unused",
        "partition_table_type": "GPT" if boots else None,
        "partitions": [_partition(number, name)] if boots else [],
        "filesystem": None,
        "storage_pool": None,
        "numa_node": 0,
        "tags": ["ssd"],
        "resource_uri": f"{_NODE}/blockdevices/@{number}@/",
    }


def _partition(disk: int, name: str) -> dict[str, Any]:
    return {
        "id": f"@{disk}@",
        "uuid": "6f1d9a54-0c0e-4a8e-9d5c-2f4b8a3e7c11",
        "size": _DISK_BYTES - 10_182_656,
        "bootable": False,
        "tags": [],
        "system_id": "@system@",
        "device_id": f"@{disk}@",
        "type": "partition",
        "path": f"/dev/disk/by-dname/{name}-part1",
        "used_for": "ext4 formatted filesystem mounted at /",
        "filesystem": {
            "fstype": "ext4",
            "label": "root",
            "uuid": "0b7c6a5e-58f1-4c0d-8a49-5d1e3f2b9a70",
            "mount_point": "/",
            "mount_options": None,
        },
        "resource_uri": f"{_NODE}/blockdevices/@{disk}@/partition/@{disk}@",
    }


def _numa_node(number: int) -> dict[str, Any]:
    cores = list(range(number * 4, number * 4 + 4))
    return {"index": number, "memory": 65536, "cores": cores, "hugepages_set": []}


_INFO = {
    "system_vendor": "Simulated Servers",
    "system_product": "S2600",
    "system_family": "Server",
    "system_version": "R2",
    "system_sku": "S2600-2",
    "system_serial": "1234567890",
    "cpu_model": "Intel(R) Xeon(R) CPU",
    "mainboard_vendor": "Simulated Servers",
    "mainboard_product": "X8DTT",
    "mainboard_serial": "1234567890",
    "mainboard_version": "1.00",
    "mainboard_firmware_vendor": "American Megatrends Inc.",
    "mainboard_firmware_date": "05/20/2024",
    "mainboard_firmware_version": "R4222X80",
    "chassis_vendor": "Simulated Servers",
    "chassis_type": "Main Server Chassis",
    "chassis_serial": "1234567890.",
    "chassis_version": "1.0",
}
