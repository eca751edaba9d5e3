"""A site of servers with the same hardware and planned cables, some of them with a planted fault.

One table of faults serves every provisioner, as far as it shows the part.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.hardware.seen import Aspect
from tests.factories import document, node_document

Parts = dict[str, Any]
SCHEMA = "shipyard/ExpectedHardware/v1"
PROFILE = "r740"
GB = 1000**3
CPU, GPU = "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", "NVIDIA A100"
HIDDEN: Mapping[str, frozenset[Aspect]] = {
    "maas": frozenset({Aspect.BMC}),
    "ironic": frozenset({Aspect.MODULES, Aspect.ACCELERATORS}),
    "drydock": frozenset({Aspect.BMC}),
    "real ironic": frozenset({Aspect.MODULES, Aspect.ACCELERATORS, Aspect.BMC}),  # fake hardware has no BMC
}
"""What a provisioner does not show."""

EXPECTED: Mapping[str, tuple[Aspect, Any]] = {
    "cpu": (Aspect.CPU, {"model": "Gold 6140", "sockets": 2, "threads": 72}),
    "memory": (Aspect.MEMORY, {"size": "384 GiB", "tolerance": 1, "modules": 12}),
    "disks": (
        Aspect.DISKS,
        [
            {"count": 2, "type": "ssd", "size": "480 GB", "role": "system", "names": ["sda", "sdb"]},
            {"count": 4, "type": "nvme", "size": "1.6 TB", "role": "data", "names": [f"nvme{at}" for at in range(4)]},
        ],
    ),
    "nics": (Aspect.NICS, [{"count": 2, "speed": 25000, "driver": "ice", "names": ["ens1f0", "ens1f1"]}]),
    "accelerators": (Aspect.ACCELERATORS, [{"model": GPU, "count": 2}]),
    "bmc": (Aspect.BMC, {"version": "7.10"}),
}


def expected(peer: str) -> dict[str, Any]:
    """Return what is expected of all servers, as far as the provisioner shows it."""
    wanted = {name: copy.deepcopy(value) for name, (aspect, value) in EXPECTED.items() if aspect not in HIDDEN[peer]}
    if Aspect.MODULES in HIDDEN[peer]:
        del wanted["memory"]["modules"]
    return wanted


def cable(number: int, nic: int) -> tuple[str, str]:
    """Return the switch and the port of a card."""
    return f"leaf{number // 40}-{nic}", f"Ethernet1/{number % 40 + 1}"


def right(number: int) -> Parts:
    """Return a server without a fault."""
    nics = []
    for at in range(2):
        switch, port = cable(number, at)
        nics.append({"name": f"ens1f{at}", "speed": 25000, "driver": "ice", "switch": switch, "port": port})
    ssds = [{"name": name, "size": 480 * GB, "kind": "ssd"} for name in ("sda", "sdb")]
    nvmes = [{"name": f"nvme{at}n1", "size": 1600 * GB, "kind": "nvme"} for at in range(4)]
    return {
        "cpu_model": CPU,
        "sockets": 2,
        "cores": 36,
        "threads": 72,
        "memory": 384,
        "modules": 12,
        "disks": [*ssds, *nvmes],
        "nics": nics,
        "accelerators": [{"model": GPU}, {"model": GPU}],
        "bmc": "7.10",
    }


@dataclass(frozen=True)
class Fault:
    """``change``: plants it in the parts of a server; ``words``: a part of the sentence that has to name it."""

    aspect: Aspect
    change: Callable[[Parts], object]
    words: str


def _set(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.update(values)


def _without(kind: str, *names: str) -> Callable[[Parts], object]:
    return lambda parts: parts.update({kind: [each for each in parts[kind] if each["name"] not in names]})


def _part(kind: str, name: str, /, **values: Any) -> Callable[[Parts], object]:
    return lambda parts: next(each for each in parts[kind] if each["name"] == name).update(values)


def _more(kind: str, /, **values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts[kind].append(values)


def _swap_cards(parts: Parts) -> None:
    first, second = parts["nics"]
    for key in ("switch", "port"):
        first[key], second[key] = second[key], first[key]


FAULTS: Sequence[Fault] = [
    Fault(Aspect.CPU, _set(cpu_model="Intel(R) Xeon(R) Silver 4110"), 'CPU model "Intel(R) Xeon(R) Silver 4110" seen'),
    Fault(Aspect.CPU, _set(cpu_model="AMD EPYC 7302"), 'CPU model "AMD EPYC 7302" seen, "Gold 6140" expected'),
    Fault(Aspect.CPU, _set(cpu_model="Intel(R) Xeon(R) Gold 6148"), '"Gold 6140" expected'),
    Fault(Aspect.CPU, _set(threads=144), "144 CPU threads seen, 72 expected"),
    Fault(Aspect.CPU, _set(threads=36), "36 CPU threads seen, 72 expected"),
    Fault(Aspect.CPU, _set(threads=70), "70 CPU threads seen, 72 expected"),
    Fault(Aspect.SOCKETS, _set(sockets=1, threads=36), "1 CPU socket seen, 2 expected"),
    Fault(Aspect.SOCKETS, _set(sockets=4), "4 CPU sockets seen, 2 expected"),
    Fault(Aspect.MEMORY, _set(memory=352), "352 GiB of memory seen, 384 GiB expected"),
    Fault(Aspect.MEMORY, _set(memory=192), "192 GiB of memory seen, 384 GiB expected"),
    Fault(Aspect.MEMORY, _set(memory=768), "768 GiB of memory seen, 384 GiB expected"),
    Fault(Aspect.MEMORY, _set(memory=380), "380 GiB of memory seen, 384 GiB expected"),
    Fault(Aspect.MODULES, _set(modules=11), "11 memory modules seen, 12 expected"),
    Fault(Aspect.MODULES, _set(modules=1), "1 memory module seen, 12 expected"),
    Fault(Aspect.DISKS, _without("disks", "nvme1n1"), "3 of 4 nvme disks of 1.6 TB (data) seen: nvme1 missing"),
    Fault(
        Aspect.DISKS, _without("disks", "nvme0n1", "nvme3n1"), "2 of 4 nvme disks of 1.6 TB (data) seen: nvme0, nvme3"
    ),
    Fault(Aspect.DISKS, _without("disks", *(f"nvme{at}n1" for at in range(4))), "0 of 4 nvme disks"),
    Fault(Aspect.DISKS, _without("disks", "sda"), "1 of 2 ssd disks of 480 GB (system) seen: sda missing"),
    Fault(Aspect.DISKS, _without("disks", "sdb"), "1 of 2 ssd disks of 480 GB (system) seen: sdb missing"),
    Fault(Aspect.DISKS, _part("disks", "nvme3n1", size=800 * GB), "other: nvme3n1 (nvme 800 GB)"),
    Fault(Aspect.DISKS, _without("disks", "sda", "sdb"), "0 of 2 ssd disks of 480 GB (system) seen: sda, sdb missing"),
    Fault(Aspect.DISKS, _part("disks", "sdb", size=240 * GB), "1 of 2 ssd disks of 480 GB (system) seen; other: sdb"),
    Fault(Aspect.DISKS, _part("disks", "nvme2n1", size=3200 * GB), "other: nvme2n1 (nvme 3.2 TB)"),
    Fault(Aspect.DISKS, _part("disks", "nvme2n1", size=1500 * GB), "other: nvme2n1 (nvme 1.5 TB)"),
    Fault(Aspect.DISKS, _part("disks", "sda", kind="hdd"), "other: sda (hdd 480 GB)"),
    Fault(
        Aspect.DISKS, _more("disks", name="sdc", size=480 * GB, kind="ssd"), "3 ssd disks of 480 GB (system) seen, 2"
    ),
    Fault(
        Aspect.DISKS, _more("disks", name="nvme4n1", size=1600 * GB, kind="nvme"), "5 nvme disks of 1.6 TB (data) seen"
    ),
    Fault(Aspect.NICS, _without("nics", "ens1f1"), "1 of 2 network cards of 25 Gbit/s with driver ice seen: ens1f1"),
    Fault(Aspect.NICS, _without("nics", "ens1f0"), "1 of 2 network cards of 25 Gbit/s with driver ice seen: ens1f0"),
    Fault(Aspect.NICS, _part("nics", "ens1f0", speed=10000), "other: ens1f0 (10 Gbit/s, ice)"),
    Fault(Aspect.NICS, _part("nics", "ens1f1", speed=1000), "other: ens1f1 (1 Gbit/s, ice)"),
    Fault(Aspect.NICS, _more("nics", name="ens2f0", speed=25000, driver="ice"), "3 network cards of 25 Gbit/s"),
    Fault(Aspect.DRIVERS, _part("nics", "ens1f0", driver="i40e"), "other: ens1f0 (25 Gbit/s, i40e)"),
    Fault(Aspect.DRIVERS, _part("nics", "ens1f1", driver="mlx5_core"), "other: ens1f1 (25 Gbit/s, mlx5_core)"),
    Fault(Aspect.ACCELERATORS, _set(accelerators=[{"model": GPU}]), "1 of 2 accelerators NVIDIA A100 seen"),
    Fault(Aspect.ACCELERATORS, _set(accelerators=[{"model": "NVIDIA T4"}] * 2), "0 of 2 accelerators NVIDIA A100 seen"),
    Fault(Aspect.ACCELERATORS, _set(accelerators=[{"model": GPU}] * 3), "3 of 2 accelerators NVIDIA A100 seen"),
    Fault(Aspect.BMC, _set(bmc="6.40"), "BMC version 6.40 seen, 7.10 expected"),
    Fault(Aspect.BMC, _set(bmc="7.1"), "BMC version 7.1 seen, 7.10 expected"),
    Fault(Aspect.CABLING, _part("nics", "ens1f0", port="Ethernet1/99"), "ens1f0 is on leaf"),
    Fault(Aspect.CABLING, _part("nics", "ens1f1", switch="spine9"), "ens1f1 is on spine9 port Ethernet1/"),
    Fault(
        Aspect.CABLING, _part("nics", "ens1f1", switch="leaf999-1", port="xe-0/0/1"), "ens1f1 is on leaf999-1 port xe"
    ),
    Fault(Aspect.CABLING, _part("nics", "ens1f0", switch=""), "ens1f0 sees no switch, leaf"),
    Fault(Aspect.CABLING, _part("nics", "ens1f1", switch=""), "ens1f1 sees no switch, leaf"),
    Fault(Aspect.CABLING, _swap_cards, "cables are swapped: ens1f0 of "),
]
TWINS = 3
"""Pairs of nodes whose cables are swapped, after the nodes with the faults of the table."""


@dataclass(frozen=True)
class Planted:
    """``hardware``: the scenario's, by node; ``faults``: the words of each faulty node; ``pairs``: swapped nodes."""

    hardware: Mapping[str, Parts]
    documents: Sequence[dict[str, Any]]
    faults: Mapping[str, str]
    pairs: Sequence[tuple[str, str]]

    @property
    def nodes(self) -> list[str]:
        """All nodes."""
        return list(self.hardware)


def planted(
    peer: str, *, right_nodes: int, faults: Iterable[Fault] = FAULTS, twins: int = TWINS, prefix: str = "n"
) -> Planted:
    """Return a site with every fault that the provisioner can show, on a node each, and that many right nodes."""
    chosen = [fault for fault in faults if fault.aspect not in HIDDEN[peer]]
    count = len(chosen) + 2 * twins + right_nodes
    names = [f"{prefix}{number:05}" for number in range(count)]
    hardware = {name: right(number) for number, name in enumerate(names)}
    words = {}
    for name, fault in zip(names, chosen, strict=False):
        fault.change(hardware[name])
        words[name] = fault.words
    pairs = []
    for at in range(len(chosen), len(chosen) + 2 * twins, 2):
        first, second = names[at : at + 2]
        for mine, other in zip(hardware[first]["nics"], hardware[second]["nics"], strict=True):
            for key in ("switch", "port"):
                mine[key], other[key] = other[key], mine[key]
        pairs.append((first, second))
    return Planted(hardware, documents(peer, names), words, pairs)


def documents(peer: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the nodes of the site, and what is expected of them."""
    cables = {}
    for number, name in enumerate(names):
        ends = {f"ens1f{at}": cable(number, at) for at in range(2)}
        cables[name] = {"cabling": {nic: {"switch": switch, "port": port} for nic, (switch, port) in ends.items()}}
    found = [node_document(name, hardware_profile=PROFILE) for name in names]
    data = {"hardware_profiles": [PROFILE], **expected(peer), "nodes": cables}
    return [*found, document(SCHEMA, "r740", data)]
