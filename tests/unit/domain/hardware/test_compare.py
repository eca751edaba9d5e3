"""Seen hardware against expected hardware, without any provisioner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from shipyard_api.domain.hardware.compare import Compared, compare
from shipyard_api.domain.hardware.expected import Expectation
from shipyard_api.domain.hardware.seen import Disk, Neighbour, Nic, NotSeen, SeenHardware
from shipyard_api.domain.nodes import NodeName
from tests.unit.tables import every_row

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
GB = 1000**3


def expects(**data: Any) -> Expectation:
    return msgspec.convert(data, Expectation)


def compared(expected: Mapping[str, Any], **seen: Any) -> Compared:
    return compare({N1: expects(**expected)}, {N1: SeenHardware(**seen)}, [N1])


def disks(*names: str, size: int = 1600 * GB, kind: str = "nvme") -> tuple[Disk, ...]:
    return tuple(Disk(name, size, kind) for name in names)


FOUR = {"disks": [{"count": 4, "type": "nvme", "size": "1.6 TB", "names": ["nvme0", "nvme1", "nvme2", "nvme3"]}]}
MIXED = {"disks": [{"count": 1, "type": "ssd", "size": "480 GB"}, {"count": 1, "type": "ssd", "size": "500 GB"}]}
CARDS = {"nics": [{"count": 1, "speed": 25000}, {"count": 1, "speed": 1000}]}


@every_row(
    {
        "nothing is expected": ({}, {"threads": 8}, None),
        "a part of the name is enough, in any case": (
            {"cpu": {"model": "GOLD 6140"}},
            {"cpu_model": "Xeon  gold 6140"},
            None,
        ),
        "within the tolerance": ({"memory": {"size": "100 GB", "tolerance": 1}}, {"memory": 99 * GB}, None),
        "beyond the tolerance": (
            {"memory": {"size": "100 GB", "tolerance": 1}},
            {"memory": 98 * GB},
            "91.27 GiB of memory seen, 93.13 GiB expected",
        ),
        "a disk is missing": (FOUR, {"disks": disks("nvme0n1", "nvme2n1", "nvme3n1")}, "nvme1 missing"),
        "names decide nothing": (FOUR, {"disks": disks("nvme7", "nvme8", "nvme9", "sdx")}, None),
        "a disk without a size is none": (
            FOUR,
            {"disks": (*disks("nvme0n1", "nvme1n1", "nvme2n1"), Disk("sr0"))},
            "3 of 4",
        ),
        "a disk of an unknown kind counts": (FOUR, {"disks": disks("a", "b", "c", "d", kind="")}, None),
        "other disks are not compared": (FOUR, {"disks": (*disks("a", "b", "c", "d"), Disk("usb", GB, "hdd"))}, None),
        "an nvme is an ssd": (MIXED, {"disks": (Disk("a", 480 * GB, "nvme"), Disk("b", 500 * GB, "ssd"))}, None),
        "the nearest size goes first": (
            MIXED,
            {"disks": (Disk("b", 500 * GB, "ssd"), Disk("a", 480 * GB, "ssd"))},
            None,
        ),
        "no disk at all": (FOUR, {"disks": ()}, "0 of 4 nvme disks of 1.6 TB seen: nvme0, nvme1, nvme2, nvme3 missing"),
        "a card has another speed": (
            CARDS,
            {"nics": (Nic("e0", speed=10000), Nic("e1", speed=1000))},
            "0 of 1 network cards of 25 Gbit/s seen; other: e0 (10 Gbit/s)",
        ),
        "no accelerator is expected": (
            {"accelerators": [{"model": "A100", "count": 0}]},
            {"accelerators": ("NVIDIA A100",)},
            "1 of 0 accelerators A100 seen",
        ),
    }
)
def test_what_differs(expected: Mapping[str, Any], seen: Mapping[str, Any], words: str | None) -> None:
    found = compared(expected, **seen)
    assert found.unknown == {}
    assert (words in found.mismatches[N1][0]) if words else (found.right == (N1,)), found


@every_row(
    [
        ({"cpu": {"sockets": 2}}, "sockets"),
        ({"memory": {"modules": 2, "size": 1}}, "memory, no memory modules"),
        ({"disks": [{"count": 1}]}, "disks"),
        ({"bmc": {"version": "1"}}, "BMC version"),
        ({"cabling": {"e0": {"switch": "s", "port": "p"}}}, "cabling"),
    ]
)
def test_what_the_provisioner_does_not_show_is_unknown_and_never_wrong(expected: Mapping[str, Any], words: str) -> None:
    found = compared(expected)
    assert (found.mismatches, found.unknown) == ({}, {N1: f"the provisioner shows no {words}"})


def test_a_node_without_expectation_is_not_compared_and_one_that_was_not_seen_says_why() -> None:
    expected = {N1: expects(cpu={"threads": 8}), N2: expects(cpu={"threads": 8})}
    found = compare(expected, {N1: NotSeen("not yet"), N3: SeenHardware(threads=1)}, [N1, N2, N3])
    assert found == Compared(unknown={N1: "not yet"}, unread=(N2,))


# --- Cables -----------------------------------------------------------------------------------------------------------

PORTS = {N1: ("sw1", "p1"), N2: ("sw1", "p2"), N3: ("sw1", "p3")}
WIRED = {node: expects(cabling={"e0": {"switch": switch, "port": port}}) for node, (switch, port) in PORTS.items()}


def at(switch: str, port: str, *, nic: str = "e0", mac: str = "") -> SeenHardware:
    return SeenHardware(nics=(Nic(nic, mac),), neighbours={nic: Neighbour((switch, "02:00:00:00:00:01"), (port,))})


def test_two_nodes_on_each_others_port_are_one_pair() -> None:
    found = compare(WIRED, {N1: at("sw1", "p2"), N2: at("sw1", "p1"), N3: at("sw1", "p3")}, [N1, N2, N3])
    text = "cables are swapped: e0 of n1 and e0 of n2 (sw1 port p1 and sw1 port p2)"
    assert found.pairs == ((N1, N2, text),)
    assert found.mismatches == {N1: (text,), N2: (text,)}
    assert list(found.sentences()) == [f"n1 and n2: {text}"]


def test_three_nodes_in_a_circle_are_three_faults_that_name_each_other() -> None:
    found = compare(WIRED, {N1: at("sw1", "p2"), N2: at("sw1", "p3"), N3: at("sw1", "p1")}, [N1, N2, N3])
    assert found.pairs == ()
    assert found.mismatches[N1] == ("e0 is on sw1 port p2, where e0 of n2 belongs; sw1 port p1 expected",)
    assert len(list(found.sentences())) == 3


@every_row(
    [
        (at("SW1", "P1"), None),
        (at("sw1.example.org", "p1"), None),
        (at("spine", "p1"), "e0 is on spine port p1; sw1 port p1 expected"),
        (at("sw1", "p1", nic="e9"), "e0 sees no switch, sw1 port p1 expected"),
        (at("sw1", "p9"), "e0 is on sw1 port p9; sw1 port p1 expected"),
    ]
)
def test_a_cable_is_where_any_name_of_its_switch_says(seen: SeenHardware, words: str | None) -> None:
    assert compare(WIRED, {N1: seen}, [N1]).mismatches == ({N1: (words,)} if words else {})


def test_a_card_is_named_by_its_address_too() -> None:
    mac = "52:54:00:00:00:01"
    expected = {N1: expects(cabling={mac.upper(): {"switch": "02:00:00:00:00:01", "port": "p1"}})}
    assert compare(expected, {N1: at("sw1", "p1", mac=mac)}, [N1]).right == (N1,)
