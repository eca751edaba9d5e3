"""The representations of machines, pools and zones."""

import json
from typing import Any

from shipyard_simulators.maas.hardware import hardware_text
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.places import Place
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.statuses import Status
from shipyard_simulators.maas.wire import API

_ADDRESSED = {Status.DEPLOYING, Status.DEPLOYED, Status.FAILED_DEPLOYMENT, Status.RESCUE_MODE}


def machine_text(region: Region, machine: Machine) -> str:
    """Return the representation of a machine, as JSON."""
    addresses = [machine.ip_address] if machine.status in _ADDRESSED else []
    # Indented, which is slow, is only the text that is made once.
    parts, fields = region.scenario.parts(machine.hostname), _fields(region, machine, addresses)
    if parts is not None:
        fields |= {"cpu_count": parts.threads, "memory": parts.memory * 1024}
    return f"{json.dumps(fields).removesuffix('}')},\n{hardware_text(machine, addresses, parts)}\n}}"


def _fields(region: Region, machine: Machine, addresses: list[str]) -> dict[str, Any]:
    newest = {scripts.kind: scripts.number for scripts in machine.scripts}
    return {
        "id": machine.number,
        "system_id": machine.system_id,
        "hostname": machine.hostname,
        "fqdn": machine.fqdn,
        "domain": {
            "id": 0,
            "name": machine.domain,
            "authoritative": True,
            "ttl": None,
            "resource_record_count": 0,
            "resource_uri": f"{API}/domains/0/",
        },
        "description": machine.description,
        "status": int(machine.status),
        "status_name": machine.status.label,
        "status_message": machine.message,
        "status_action": "",
        "power_type": machine.power_type,
        "power_state": machine.power_state,
        "owner": machine.owner,
        "locked": machine.locked,
        "pool": show_pool(region.pools[machine.pool]),
        "zone": show_zone(region.zones[machine.zone]),
        "tag_names": list(machine.tags),
        "owner_data": dict(machine.annotations),
        "workload_annotations": dict(machine.annotations),
        "agent_name": machine.agent_name,
        "architecture": machine.architecture,
        "cpu_count": machine.cpu_count,
        "cpu_speed": 2600,
        "memory": machine.memory,
        "storage": machine.storage,
        "swap_size": None,
        "osystem": machine.osystem,
        "distro_series": machine.distro_series,
        "hwe_kernel": machine.hwe_kernel or None,
        "min_hwe_kernel": "",
        "ephemeral_deploy": machine.ephemeral_deploy,
        "enable_hw_sync": False,
        "netboot": machine.netboot,
        "error_description": machine.error_description,
        "ip_addresses": addresses,
        "special_filesystems": [],
        "bcaches": [],
        "cache_sets": [],
        "raids": [],
        "volume_groups": [],
        "bios_boot_method": "uefi",
        "pod": None,
        "parent": None,
        "hardware_uuid": f"1d030221-ce00-d553-d522-{machine.number:012x}",
        "commissioning_status": _verdict(machine, 0)[0],
        "commissioning_status_name": _verdict(machine, 0)[1],
        "testing_status": _verdict(machine, 2)[0],
        "testing_status_name": _verdict(machine, 2)[1],
        **_untested("cpu", "memory", "network", "storage", "interface", "other"),
        "current_commissioning_result_id": newest.get(0),
        "current_installation_result_id": newest.get(1),
        "current_testing_result_id": newest.get(2),
        "disable_ipv4": False,
        "address_ttl": None,
        "constraints_by_type": {},
        "default_gateways": {"ipv4": {"gateway_ip": None, "link_id": None}, "ipv6": {"gateway_ip": None}},
        "node_type": 0,
        "node_type_name": "Machine",
        "resource_uri": f"{API}/machines/{machine.system_id}/",
    }


def show_pool(pool: Place) -> dict[str, Any]:
    """Return the representation of a pool."""
    uri = f"{API}/resourcepool/{pool.number}/"
    return {"id": pool.number, "name": pool.name, "description": pool.description, "resource_uri": uri}


def show_zone(zone: Place) -> dict[str, Any]:
    """Return the representation of a zone."""
    uri = f"{API}/zones/{zone.name}/"
    return {"id": zone.number, "name": zone.name, "description": zone.description, "resource_uri": uri}


def _verdict(machine: Machine, kind: int) -> tuple[int, str]:
    newest = next((scripts for scripts in reversed(machine.scripts) if scripts.kind == kind), None)
    if newest is None:
        return -1, "Unknown"
    if newest.ended is None:
        return 1, "Running"
    return (2, "Passed") if newest.passed else (3, "Failed")


def _untested(*parts: str) -> dict[str, Any]:
    """Return the results of tests that have not run."""
    return {f"{part}_test_status": -1 for part in parts} | {f"{part}_test_status_name": "Unknown" for part in parts}
