"""The hardware of a server as its provisioner has seen it. None, 0 or an empty text: the provisioner shows no value."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import msgspec

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


@dataclass(frozen=True, slots=True)
class NotSeen:
    """A server of which the provisioner has seen nothing, and why."""

    why: str


SeenNodes = Mapping[NodeName, SeenHardware | NotSeen]
"""What was seen of each node; a node that is missing has not been read yet: reading goes on with the next request."""
