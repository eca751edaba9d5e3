"""The hardware of a server as its provisioner has seen it, with features and sizes. None, 0, empty text: not shown."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from shipyard_api.domain.nodes import NodeName


class Aspect(Enum):
    """What is compared. Provisioners read some aspects of all servers at once, and others server by server."""

    CPU = "cpu"
    SOCKETS = "sockets"
    MEMORY = "memory"
    MODULES = "memory modules"
    DISKS = "disks"
    NICS = "network cards"
    DRIVERS = "drivers"
    ACCELERATORS = "accelerators"
    BMC = "BMC version"
    CABLING = "cabling"


EVERYTHING = frozenset(Aspect)


class Neighbour(msgspec.Struct, frozen=True):
    """The port of a switch at the other end of a cable, by LLDP: each with all names that the switch gives it."""

    switch: tuple[str, ...]
    port: tuple[str, ...]

    def __str__(self) -> str:
        """Return the first names."""
        return f"{self.switch[0] if self.switch else '?'} port {self.port[0] if self.port else '?'}"


class Disk(msgspec.Struct, frozen=True):
    """A disk; ``kind``: hdd, ssd or nvme; ``size`` in bytes."""

    name: str
    size: int = 0
    kind: str = ""


class Nic(msgspec.Struct, frozen=True):
    """A network card; ``speed`` in Mbit/s: of its link, or the card's own while it has no link."""

    name: str
    mac: str = ""
    speed: int = 0
    driver: str = ""


class SeenHardware(msgspec.Struct, frozen=True):
    """A server. ``memory`` in bytes; ``threads``: logical processors; ``neighbours``: by the name of the card.

    ``model``, ``firmware``: of the whole server, such as "Dell PowerEdge R740" and the version of its BIOS.
    """

    cpu_model: str = ""
    sockets: int = 0
    cores: int = 0
    threads: int = 0
    memory: int = 0
    modules: int = 0
    disks: tuple[Disk, ...] | None = None
    nics: tuple[Nic, ...] | None = None
    accelerators: tuple[str, ...] | None = None
    bmc_version: str = ""
    neighbours: Mapping[str, Neighbour] | None = None
    model: str = ""
    firmware: str = ""


class NotSeen(Struct, frozen=True):
    """A server of which the provisioner has seen nothing, and why."""

    why: str


SeenNodes = Mapping[NodeName, SeenHardware | NotSeen]
"""What was seen of each node; a node that is missing has not been read yet: reading goes on with the next request."""


Value = str | frozenset[str]
OfNode = Mapping[str, Value]


def features_of(seen: SeenHardware) -> OfNode:
    """Return the features of a server that were seen; a port group is what the names of its ports have in common."""
    ends = list((seen.neighbours or {}).values())
    switches = frozenset(end.switch[0] for end in ends if end.switch)
    ports = ((end.switch[0], end.port[0].rpartition("/")[0]) for end in ends if end.switch and end.port)
    groups = frozenset(f"{switch} {group}" for switch, group in ports if group)
    known: dict[str, Value] = {"switch": switches, "port_group": groups, "model": seen.model, "firmware": seen.firmware}
    return {name: value for name, value in known.items() if value}


def by_feature(known: Mapping[NodeName, OfNode]) -> Mapping[str, Mapping[NodeName, Value]]:
    """Return the values of each feature of these nodes."""
    found: dict[str, dict[NodeName, Value]] = {}
    for node, values in known.items():
        for name, value in values.items():
            found.setdefault(name, {})[node] = value
    return found


T = TypeVar("T")


class KeptReadings(Generic[T]):
    """Readings by the id of a server, each with its version, such as the time of an inspection.

    Safe for threads: two of them may only read the same thing twice.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._kept: dict[str, tuple[str, T]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._kept

    def of(self, name: str, version: str) -> T | None:
        """Return what was read of this version, None if nothing was."""
        kept = self._kept.get(name)
        return kept[1] if kept and kept[0] == version else None

    def keep(self, name: str, version: str, value: T) -> None:
        """Keep a reading instead of that of another version; nothing more is kept when there are too many."""
        if name in self._kept or len(self._kept) < self._most:
            self._kept[name] = version, value


_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGTP", 1)}
_UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGTP", 1)}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKMGTP]?i?B)?")


def size_of(written: int | str) -> int:
    """Return a size in bytes; a text has a number and a unit, such as "480 GB" or "384 GiB"."""
    found = _SIZE.fullmatch(str(written))
    if found is None or (found[2] or "") not in _UNITS:
        raise ValueError(f"{written!r} is no size")
    return round(float(found[1]) * _UNITS[found[2] or ""])


def decimal(size: int) -> str:
    """Return the size of a disk, as vendors write it."""
    return _shown(size, 1000, ("B", "kB", "MB", "GB", "TB", "PB"))


def binary(size: int) -> str:
    """Return a size of memory."""
    return _shown(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def _shown(size: int, step: int, units: tuple[str, ...]) -> str:
    value, power = float(size), 0
    while value >= step and power < len(units) - 1:
        value, power = value / step, power + 1
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{text} {units[power]}"
