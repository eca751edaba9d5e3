"""What a switch says, in the forms in which Ironic keeps it."""

from shipyard_api.domain.hardware.inspections import of_fields, of_names
from shipyard_api.domain.hardware.seen import Neighbour
from tests.unit.tables import every_row

MAC, SWITCH = "02:00:00:00:00:01", "sw1"


def field(kind: int, subtype: str, text: str) -> list[object]:
    return [kind, subtype + text.encode().hex()]


@every_row(
    [
        (
            [[1, "04020000000001"], field(2, "05", "Ethernet1/1"), [4, b"to n1".hex()], [5, b"sw1".hex()], [0, ""]],
            Neighbour((SWITCH, MAC), ("Ethernet1/1", "to n1")),
        ),
        ([field(1, "07", "sw1"), [2, "03020000000002"]], Neighbour((SWITCH,), ("02:00:00:00:00:02",))),
        ([[1, "04020000000001"]], None),
        ([[1, "zz"], [2, ""], "odd", [5, 7]], None),
        ([], None),
    ]
)
def test_raw_fields(fields: list[object], expected: Neighbour | None) -> None:
    assert of_fields(fields) == expected


@every_row(
    [
        (
            {"switch_system_name": SWITCH, "switch_chassis_id": MAC, "switch_port_id": "p1"},
            Neighbour((SWITCH, MAC), ("p1",)),
        ),
        ({"switch_chassis_id": MAC, "switch_port_description": "p1"}, Neighbour((MAC,), ("p1",))),
        ({"switch_system_name": SWITCH}, None),
        ({"switch_system_name": 1, "switch_port_id": None}, None),
    ]
)
def test_names(names: dict[str, object], expected: Neighbour | None) -> None:
    assert of_names(names) == expected
