"""Compare the hardware of 10,000 servers with the design: ``python benchmarks/hardware.py [SERVERS]``.

Two parts, in one process. ``compare``: processors, memory, disks, cards and cables of all servers against what a
document expects, in memory; every 250th has a fault, and 20 pairs have swapped cables. ``maas``: what MAAS's list
shows, memory, disks and cards, read from a simulated region whose machines are 18 kB each.

Prints the seconds and the requests. Exits 1 if a fault is missed, a right server is named, both parts together take
more than 60 s, or one reading sends more than 20 requests.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import msgspec
from maas_polls import names, provisioner, region

from shipyard_api.domain.hardware.compare import compare
from shipyard_api.domain.hardware.expected import Expectation
from shipyard_api.domain.hardware.seen import Aspect, Disk, Neighbour, Nic, SeenHardware
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import MOST_REQUESTS

SERVERS = 10_000
EVERY = 250
PAIRS = 20
LIMIT = 60.0
GB = 1000**3
EXPECTED: Mapping[str, Any] = {
    "cpu": {"model": "Gold 6140", "sockets": 2, "threads": 72},
    "memory": {"size": "384 GiB", "modules": 12},
    "disks": [{"count": 2, "type": "ssd", "size": "480 GB"}, {"count": 4, "type": "nvme", "size": "1.6 TB"}],
    "nics": [{"count": 2, "speed": 25000, "driver": "ice"}],
}
OF_MAAS: Mapping[str, Any] = {
    "memory": {"size": "128 GiB"},
    "disks": [{"count": 3, "type": "ssd", "size": 1_000_204_886_016}],
    "nics": [{"count": 6, "speed": 1000}],
}


def seen(number: int, *, memory: int = 384, at: int | None = None) -> SeenHardware:
    """Return a server; ``at``: the number of the server on whose ports of switches its cables are."""
    ssds = [Disk(name, 480 * GB, "ssd") for name in ("sda", "sdb")]
    nvmes = [Disk(f"nvme{each}n1", 1600 * GB, "nvme") for each in range(4)]
    ends = cables(number if at is None else at)
    return SeenHardware(
        cpu_model="Intel(R) Xeon(R) Gold 6140",
        sockets=2,
        threads=72,
        memory=memory * 1024**3,
        modules=12,
        disks=(*ssds, *nvmes),
        nics=tuple(Nic(name, speed=25000, driver="ice") for name in ends),
        neighbours={nic: Neighbour((end["switch"],), (end["port"],)) for nic, end in ends.items()},
    )


def cables(number: int) -> Mapping[str, Mapping[str, str]]:
    """Return the ends of the cables of a server."""
    return {f"ens{card}": {"switch": f"leaf{number // 40}-{card}", "port": f"p{number % 40}"} for card in range(2)}


def compare_all(count: int) -> tuple[float, bool]:
    """Return the seconds of the comparison, and whether it is right."""
    nodes = list(map(NodeName, names(count)))
    expected = {
        node: msgspec.convert({**EXPECTED, "cabling": cables(number)}, Expectation) for number, node in enumerate(nodes)
    }
    found = {node: seen(number) for number, node in enumerate(nodes)}
    wrong = set(nodes[::EVERY])
    found |= {node: seen(number, memory=352) for number, node in enumerate(nodes) if node in wrong}
    pairs = [(at, at + 1) for at in range(1, EVERY * PAIRS, EVERY) if at + 1 < count]
    for first, second in pairs:
        found |= {nodes[first]: seen(first, at=second), nodes[second]: seen(second, at=first)}
    begun = perf_counter()
    compared = compare(expected, found, nodes)
    lasted = perf_counter() - begun
    twins = {nodes[at] for pair in pairs for at in pair}
    return lasted, compared.mismatches.keys() == wrong | twins and len(compared.pairs) == len(pairs)


def read_maas(count: int) -> tuple[float, int, bool]:
    """Return the seconds and the requests of one reading of MAAS's list, and whether all servers are right."""
    nodes = list(map(NodeName, names(count)))
    expectation = msgspec.convert(OF_MAAS, Expectation)
    with region(count, "Ready", 60, 1.0) as maas:
        client, of_maas = provisioner(maas.url)
        maas.cost()
        begun = perf_counter()
        read = of_maas.capabilities.inventory
        assert read is not None
        compared = compare(
            dict.fromkeys(nodes, expectation), read(nodes, frozenset({Aspect.MEMORY, Aspect.DISKS, Aspect.NICS})), nodes
        )
        lasted, requests = perf_counter() - begun, maas.cost().requests
        client.close()
    return lasted, requests, len(compared.right) == count


def main() -> int:
    """Print what was measured; return whether a bound was missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SERVERS
    seconds, is_right = compare_all(count)
    print(f"compare: {count:,} servers in {seconds:.1f} s, {'every fault named' if is_right else 'WRONG'}")
    of_maas, requests, all_right = read_maas(count)
    print(
        f"maas: {count:,} servers in {of_maas:.1f} s and {requests} requests, {'all right' if all_right else 'WRONG'}"
    )
    return int(not (is_right and all_right and seconds + of_maas <= LIMIT and requests <= MOST_REQUESTS))


if __name__ == "__main__":
    sys.exit(main())
