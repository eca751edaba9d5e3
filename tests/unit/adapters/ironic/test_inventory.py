"""Ironic's inspection data as hardware, in the forms of several releases."""

from typing import Any, cast

from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.inventory import Inventories, of_inventory
from shipyard_api.domain.hardware.seen import Aspect, Disk, Neighbour, Nic, NotSeen, SeenHardware
from shipyard_api.domain.nodes import NodeName
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


class Inspected:
    """Nodes of an Ironic, each with as many threads as its number says, and what was read of which."""

    def __init__(self, *numbers: int, further: int = 0) -> None:
        self.listed = [
            {"name": name, "uuid": f"u-{name}", "inspection_finished_at": "today"}
            for name in (*names(*numbers), *map(str, range(further)))
        ]
        self.read: list[str] = []
        self.firmwares: list[dict[str, Any]] = []

    def node(self, name: str, _: object) -> dict[str, Any] | None:
        self.read.append(f"{name} alone")
        return next((entry for entry in self.listed if entry["name"] == name), None)

    def nodes(self, _: object) -> list[dict[str, Any]]:
        return self.listed

    def inventory(self, uuid: str) -> dict[str, Any] | None:
        self.read.append(uuid.removeprefix("u-"))
        return {"inventory": {"cpu": {"count": int(uuid[-2:])}}} if uuid != "u-n00" else None

    def firmware(self, _: str) -> list[dict[str, Any]]:
        return self.firmwares


CPU, BMC, MEMORY = frozenset({Aspect.CPU}), frozenset({Aspect.CPU, Aspect.BMC}), frozenset({Aspect.MEMORY})


def names(*numbers: int) -> list[NodeName]:
    return [NodeName(f"n{number:02}") for number in numbers]


def reader(ironic: Inspected) -> Inventories:
    return Inventories(cast(IronicClient, ironic))


@every_row([([7], [7], True), ([7, 8], [8], True), ([7, 8], [7, 8], False)])
def test_the_list_is_read_unless_one_node_is_asked_for(had: list[int], asked: list[int], alone: bool) -> None:
    ironic = Inspected(*had)
    found = reader(ironic)(names(*asked), CPU)
    assert found == {name: SeenHardware(threads=int(name[1:])) for name in names(*asked)}
    assert (f"{names(*asked)[0]} alone" in ironic.read) is alone


@every_row({"alone": [], "with another": [1]})
def test_a_node_that_shows_nothing_says_why(others: list[int]) -> None:
    ironic = Inspected(1, 2, 0)
    ironic.listed[1]["inspection_finished_at"] = ""
    for number, why in (
        (0, "keeps no inventory of it"),
        (2, "has not inspected it yet"),
        (3, "has no node of this name"),
    ):
        found = reader(ironic)(names(number, *others), CPU)
        assert found[names(number)[0]] == NotSeen(f"Ironic {why}")


@every_row([(None, 0), ({}, 0), ({"memory_mb": "2"}, 2 * 1024**2), ({"memory_mb": 3}, 3 * 1024**2)])
def test_memory_alone_is_in_the_list(properties: Any, memory: int) -> None:
    ironic = Inspected(1, 2)
    ironic.listed[0]["properties"] = properties
    assert reader(ironic)(names(1, 2), MEMORY)[NodeName("n01")] == SeenHardware(memory=memory)
    assert ironic.read == []
    reader(ironic)(names(1, 2), MEMORY | CPU)
    assert ironic.read == ["n01", "n02"]


# Further nodes in the list, of which each thousand is a request, and how many nodes are read.
@every_row(
    [(0, CPU, 19), (0, BMC, 9), (969, CPU, 19), (970, CPU, 18), (14000, CPU, 5), (30000, CPU, 5), (30000, BMC, 2)]
)
def test_a_reading_reaches_some_nodes_and_the_next_one_others(
    further: int, aspects: frozenset[Aspect], reached: int
) -> None:
    ironic, every = Inspected(*range(1, 31), further=further), names(*range(1, 31))
    read = reader(ironic)
    for turn in (1, 2):
        found = read(every[::-1], aspects)
        assert list(found) == ironic.read == every[: turn * reached]


def test_a_node_is_read_again_only_when_inspected_anew_or_asked_for_more() -> None:
    ironic = Inspected(1, 2)
    read = reader(ironic)
    for aspects, reads in ((CPU, 2), (CPU, 2), (BMC, 4), (BMC, 4)):
        read(names(1, 2), aspects)
        assert len(ironic.read) == reads
    ironic.listed[1]["inspection_finished_at"] = "tomorrow"
    read(names(1, 2), BMC)
    assert ironic.read[4:] == ["n02"]


@every_row([([], ""), ([("bios", "1")], ""), ([("bmc", "6.1"), ("bios", "1")], "6.1"), ([("bmc", None)], "")])
def test_the_version_of_the_controller_is_in_the_firmware(rows: list[tuple[str, str]], version: str) -> None:
    ironic = Inspected(1)
    ironic.firmwares = [{"component": component, "current_version": current} for component, current in rows]
    assert reader(ironic)(names(1), BMC) == {"n01": SeenHardware(threads=1, bmc_version=version)}
    assert reader(ironic)(names(1), CPU) == {"n01": SeenHardware(threads=1)}


KINDS = [{"name": "sda", "rotational": False}, {"name": "/dev/x/sdb"}, {"name": "nvme0", "rotational": True}]


@every_row(
    [
        ({}, SeenHardware()),
        ({"disks": [], "interfaces": []}, SeenHardware(disks=(), nics=())),
        ({"memory": {"total": 5}}, SeenHardware(memory=5)),
        ({"system_vendor": {"product_name": "R740"}}, SeenHardware(model="R740")),
        ({"disks": KINDS}, SeenHardware(disks=(Disk("sda", 0, "ssd"), Disk("sdb"), Disk("nvme0", 0, "nvme")))),
        ({"interfaces": [{"name": "eno1", "driver": "x"}]}, SeenHardware(nics=(Nic("eno1", driver="x"),))),
    ]
)
def test_a_part_of_an_inventory_is_that_part_of_the_hardware(inventory: dict[str, Any], seen: SeenHardware) -> None:
    assert of_inventory({"inventory": inventory}) == seen


def test_raw_fields_of_a_hook_go_before_the_agents_and_odd_ones_are_no_neighbours() -> None:
    cards = [{"name": "eno1", "lldp": [[1, "0778"], [2, "0579"]]}, {"name": "eno2", "lldp": NAMES}]
    older = {"eno3": {"lldp_processed": RAW}}
    plugins = {"lldp_raw": {"eno1": RAW}, "all_interfaces": older, "parsed_lldp": {"eno4": RAW, "eno1": {}}}
    seen = of_inventory({"inventory": {"interfaces": cards}, "plugin_data": plugins})
    assert seen.neighbours == {"eno1": Neighbour(("sw1",), ("p1",))}
