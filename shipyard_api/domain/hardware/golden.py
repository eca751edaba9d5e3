"""Write the document of expected hardware from a server that is as it should be."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from shipyard_api.domain.hardware.expected import SCHEMA
from shipyard_api.domain.hardware.seen import SeenHardware
from shipyard_api.domain.nodes import NodeName


def document(node: NodeName, profile: str, seen: SeenHardware) -> Mapping[str, Any]:
    """Return the document: what servers of one model share below the profile, cables below the node.

    A node without a profile gets everything below the node. Compared with the document, the server has no difference.
    """
    shared = _shared(seen)
    cabling = {
        nic: {"switch": neighbour.switch[0], "port": neighbour.port[0]}
        for nic, neighbour in sorted((seen.neighbours or {}).items())
        if neighbour.switch and neighbour.port
    }
    own = {"cabling": cabling} if cabling else {}
    data: dict[str, Any] = {"hardware_profiles": [profile], **shared} if profile else {}
    own = own if profile else {**shared, **own}
    if own:
        data["nodes"] = {node: own}
    metadata = {
        "schema": "metadata/Document/v1",
        "name": f"expected-hardware-{profile or node}".lower(),
        "layeringDefinition": {"abstract": False, "layer": "site"},
        "storagePolicy": "cleartext",
    }
    return {"schema": SCHEMA, "metadata": metadata, "data": data}


def _shared(seen: SeenHardware) -> dict[str, Any]:
    cpu = {"model": seen.cpu_model, "sockets": seen.sockets, "cores": seen.cores, "threads": seen.threads}
    memory = {"size": seen.memory, "modules": seen.modules}
    bmc = {"version": seen.bmc_version}
    disks: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for disk in seen.disks or ():
        if disk.size:
            disks[disk.kind, disk.size].append(disk.name)
    nics: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for nic in seen.nics or ():
        nics[nic.speed, nic.driver].append(nic.name)
    models: defaultdict[str, int] = defaultdict(int)
    for model in seen.accelerators or ():
        models[model] += 1
    data = {
        "cpu": _known(cpu),
        "memory": _known(memory),
        "disks": [
            _known({"count": len(names), "type": kind, "size": size, "names": sorted(names)})
            for (kind, size), names in sorted(disks.items())
        ],
        "nics": [
            _known({"count": len(names), "speed": speed, "driver": driver, "names": sorted(names)})
            for (speed, driver), names in sorted(nics.items())
        ],
        "accelerators": [{"model": model, "count": count} for model, count in sorted(models.items())],
        "bmc": _known(bmc),
    }
    return {name: value for name, value in data.items() if value}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
