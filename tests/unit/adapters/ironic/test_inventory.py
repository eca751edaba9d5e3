"""Ironic's inspection data as hardware, in the forms of several releases."""

from typing import Any

from shipyard_api.adapters.ironic.inventory import of_inventory
from shipyard_api.domain.hardware.seen import Disk, Neighbour, Nic, SeenHardware
from tests.unit.tables import every_row

NAMES = {"switch_system_name": "sw1", "switch_port_id": "p1"}
RAW = [[1, "077377310a"[:8]], [2, "05" + b"p1".hex()]]
CARDS = [{"name": "eno1", "mac_address": "52:54:00:AA:00:01", "speed_mbps": 25000, "lldp": None}]


def test_a_whole_server() -> None:
    seen = of_inventory(
        {
            "inventory": {
                "cpu": {"model_name": "Xeon", "count": 8, "socket_count": 2},
                "memory": {"physical_mb": 1024, "total": 5},
                "disks": [{"name": "/dev/sda", "size": 7, "rotational": True}, {"name": "/dev/nvme0n1", "size": 9}],
                "interfaces": CARDS,
                "system_vendor": {"manufacturer": "Dell", "product_name": "R740", "firmware": {"version": "2.1"}},
            },
            "plugin_data": {"parsed_lldp": {"eno1": NAMES}},
        }
    )
    assert seen == SeenHardware(
        cpu_model="Xeon",
        sockets=2,
        threads=8,
        memory=1024**3,
        disks=(Disk("sda", 7, "hdd"), Disk("nvme0n1", 9, "nvme")),
        nics=(Nic("eno1", "52:54:00:aa:00:01", 25000),),
        neighbours={"eno1": Neighbour(("sw1",), ("p1",))},
        model="Dell R740",
        firmware="2.1",
    )


@every_row(
    {
        "the hook parse-lldp": ({}, {"parsed_lldp": {"eno1": NAMES}}),
        "an inspector of its own": ({}, {"all_interfaces": {"eno1": {"lldp_processed": NAMES}}}),
        "the collector lldp": ({}, {"lldp_raw": {"eno1": RAW}}),
        "an older agent": ({"lldp": RAW}, {}),
        "parsed goes before raw": ({"lldp": [[1, "0778"], [2, "0579"]]}, {"parsed_lldp": {"eno1": NAMES}}),
    }
)
def test_neighbours_in_every_form(card: dict[str, Any], plugins: dict[str, Any]) -> None:
    seen = of_inventory({"inventory": {"interfaces": [{**CARDS[0], **card}]}, "plugin_data": plugins})
    assert seen.neighbours == {"eno1": Neighbour(("sw1",), ("p1",))}


@every_row([{}, {"inventory": None}, {"inventory": {"cpu": 1, "disks": 2, "interfaces": "x"}, "plugin_data": [1]}])
def test_odd_data_shows_nothing(answer: dict[str, Any]) -> None:
    seen = of_inventory(answer)
    assert (seen.threads, seen.memory, seen.neighbours) == (0, 0, None)
