"""The hardware of simulated servers, as a scenario describes it, and what inspections write of it.

The scenario's ``hardware`` maps names or patterns of nodes to descriptions; the first that matches a node counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from shipyard_simulators.scenario_reader import Reader

GIB = 1024**3
KINDS = {"hdd": "hdd", "ssd": "ssd", "nvme": "nvme"}


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk; ``size`` in bytes, ``kind``: hdd, ssd or nvme."""

    name: str
    size: int
    kind: str = "ssd"


@dataclass(frozen=True, slots=True)
class Nic:
    """A network card; ``speed`` in Mbit/s. ``switch``, ``port``: its neighbour by LLDP, empty without one."""

    name: str
    speed: int = 10_000
    driver: str = "ixgbe"
    switch: str = ""
    port: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """The hardware of a server; ``memory`` in GiB."""

    cpu_model: str = "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz"
    sockets: int = 2
    cores: int = 36
    threads: int = 72
    memory: int = 384
    modules: int = 12
    disks: tuple[Disk, ...] = (Disk("sda", 480_103_981_056), Disk("sdb", 480_103_981_056))
    nics: tuple[Nic, ...] = (Nic("eth0"), Nic("eth1"))
    accelerators: tuple[str, ...] = ()
    bmc: str = ""
    model: tuple[str, str] = ("Simulated Servers", "S2600")
    firmware: str = "2.10"


def read_parts(part: Reader) -> Parts:
    """Return a description; what it leaves out is as in ``Parts``."""
    part.only("cpu_model", "sockets", "cores", "threads", "memory", "modules", "disks", "nics", "accelerators", "bmc")
    usual = Parts()
    return Parts(
        cpu_model=part.text("cpu_model") or usual.cpu_model,
        sockets=_whole(part, "sockets", usual.sockets),
        cores=_whole(part, "cores", usual.cores),
        threads=_whole(part, "threads", usual.threads),
        memory=_whole(part, "memory", usual.memory),
        modules=_whole(part, "modules", usual.modules),
        disks=tuple(map(_read_disk, part.items("disks"))) if "disks" in part else usual.disks,
        nics=tuple(map(_read_nic, part.items("nics"))) if "nics" in part else usual.nics,
        accelerators=tuple(each.text("model") for each in part.items("accelerators")),
        bmc=part.text("bmc"),
    )


def _read_disk(disk: Reader) -> Disk:
    disk.only("name", "size", "kind")
    return Disk(disk.text("name"), _whole(disk, "size", 1), disk.choice("kind", KINDS) or "ssd")


def _read_nic(nic: Reader) -> Nic:
    nic.only("name", "speed", "driver", "switch", "port")
    speed, driver = _whole(nic, "speed", 10_000), nic.text("driver") or "ixgbe"
    return Nic(nic.text("name"), speed, driver, nic.text("switch"), nic.text("port"))


def _whole(part: Reader, key: str, usual: int) -> int:
    value = part.whole(key, least=0)
    return usual if value is None else value


def lshw(node: str, parts: Parts, macs: Iterable[str]) -> str:
    """Return what ``lshw -xml`` prints on the server."""
    children = [
        _memory(parts),
        *(_processor(number, parts) for number in range(parts.sockets)),
        _lshw("firmware", "memory", version=parts.firmware),
        *(_network(number, nic, mac) for number, (nic, mac) in enumerate(zip(parts.nics, macs, strict=False))),
        *(_disk(number, disk) for number, disk in enumerate(parts.disks)),
        *(
            _lshw(f"display:{number}", "display", product=model, businfo=f"pci@0000:3b:{number:02x}.0")
            for number, model in enumerate(parts.accelerators)
        ),
    ]
    core = _lshw("core", "bus", "".join(children))
    system = _lshw(node, "system", core, vendor=parts.model[0], product=parts.model[1])
    return f'<?xml version="1.0" standalone="yes" ?>\n<list>{system}</list>'


def _memory(parts: Parts) -> str:
    each = parts.memory * GIB // max(parts.modules, 1)
    banks = [_lshw(f"bank:{number}", "memory", _size(each)) for number in range(parts.modules)]
    return _lshw("memory", "memory", _size(parts.memory * GIB) + "".join(banks))


def _processor(number: int, parts: Parts) -> str:
    values = {"cores": parts.cores // max(parts.sockets, 1), "threads": parts.threads // max(parts.sockets, 1)}
    return _lshw(f"cpu:{number}", "processor", _settings(values), product=parts.cpu_model)


def _network(number: int, nic: Nic, mac: str) -> str:
    speed = f"{nic.speed // 1000}Gbit/s" if nic.speed % 1000 == 0 else f"{nic.speed}Mbit/s"
    settings = _settings({"driver": nic.driver, "speed": speed})
    bus = f"pci@0000:1a:00.{number}"
    return _lshw(f"network:{number}", "network", settings, businfo=bus, logicalname=nic.name, serial=mac)


def _disk(number: int, disk: Disk) -> str:
    path = f"/dev/{disk.name}"
    if disk.kind == "nvme":
        inner = _lshw("namespace:1", "disk", _size(disk.size), logicalname=path)
        return _lshw(f"nvme:{number}", "storage", inner)
    rotates = '<capabilities><capability id="7200rpm">7200 rotations per minute</capability></capabilities>'
    inside = _size(disk.size) + (rotates if disk.kind == "hdd" else "")
    return _lshw(f"disk:{number}", "disk", inside, logicalname=path)


def _lshw(ident: str, kind: str, inside: str = "", **texts: str) -> str:
    elements = "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in texts.items() if text)
    return f'<node id={quoteattr(ident)} claimed="true" class="{kind}">{elements}{inside}</node>'


def _size(number: int) -> str:
    return f'<size units="bytes">{number}</size>'


def _settings(values: Mapping[str, object]) -> str:
    settings = "".join(f'<setting id="{name}" value={quoteattr(str(value))} />' for name, value in values.items())
    return f"<configuration>{settings}</configuration>"


def lldp(parts: Parts) -> str:
    """Return what ``lldpctl -f xml`` prints on the server."""
    interfaces = "".join(_neighbour(nic) for nic in parts.nics if nic.switch)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<lldp label="LLDP neighbors">{interfaces}</lldp>'


def _neighbour(nic: Nic) -> str:
    return (
        f'<interface label="Interface" name={quoteattr(nic.name)} via="LLDP" rid="1" age="0 day, 00:00:20">'
        f'<chassis label="Chassis"><id label="ChassisID" type="mac">{chassis(nic.switch)}</id>'
        f'<name label="SysName">{escape(nic.switch)}</name></chassis>'
        f'<port label="Port"><id label="PortID" type="ifname">{escape(nic.port)}</id></port></interface>'
    )


def chassis(switch: str) -> str:
    """Return the MAC address of a switch."""
    mark = switch.encode().hex().ljust(10, "0")[-10:]
    return ":".join(("02", *(mark[at : at + 2] for at in range(0, 10, 2))))


def ironic_inventory(parts: Parts, macs: Iterable[str], serial: str) -> dict[str, Any]:
    """Return the inventory that Ironic's agent sends."""
    return {
        "cpu": {
            "architecture": "x86_64",
            "count": parts.threads,
            "model_name": parts.cpu_model,
            "frequency": "2300.0000",
            "flags": [],
            "socket_count": parts.sockets,
        },
        "memory": {"total": parts.memory * GIB - 2 * GIB, "physical_mb": parts.memory * 1024},
        "disks": [
            {
                "name": f"/dev/{disk.name}",
                "model": "simulated",
                "size": disk.size,
                "rotational": disk.kind == "hdd",
                "serial": f"{serial}-{disk.name}",
            }
            for disk in parts.disks
        ],
        "interfaces": [
            {
                "name": nic.name,
                "mac_address": mac,
                "has_carrier": bool(nic.switch),
                "vendor": "0x8086",
                "product": "0x1572",
                "speed_mbps": nic.speed,
                "driver": nic.driver,
                "lldp": None,
            }
            for nic, mac in zip(parts.nics, macs, strict=False)
        ],
        "system_vendor": {
            "manufacturer": parts.model[0],
            "product_name": parts.model[1],
            "serial_number": serial,
            "firmware": {"vendor": "simulated", "version": parts.firmware, "build_date": "01/02/2026"},
        },
        "bmc_address": "192.0.2.1",
        "boot": {"current_boot_mode": "uefi", "pxe_interface": None},
    }


def ironic_plugin_data(parts: Parts) -> dict[str, Any]:
    """Return what Ironic's inspection hooks add: LLDP of each card, as the hook ``parse-lldp`` writes it."""
    parsed = {
        nic.name: {
            "switch_chassis_id": chassis(nic.switch),
            "switch_port_id": nic.port,
            "switch_system_name": nic.switch,
        }
        for nic in parts.nics
        if nic.switch
    }
    return {"parsed_lldp": parsed} if parsed else {}
