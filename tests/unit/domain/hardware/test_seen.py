"""What was seen of servers, as features."""

from shipyard_api.domain.hardware.seen import Neighbour, SeenHardware, by_feature, features_of
from shipyard_api.domain.nodes import NodeName
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")
ENDS = {
    "e0": Neighbour(("sw1", "02:00"), ("Ethernet1/3",)),
    "e1": Neighbour(("sw2",), ("xe-0/1/7",)),
    "e2": Neighbour(("sw2",), ("7",)),
}


@every_row(
    [
        (SeenHardware(threads=8), {}),
        (SeenHardware(model="R740", firmware="2.1"), {"model": "R740", "firmware": "2.1"}),
        (
            SeenHardware(neighbours=ENDS),
            {"switch": frozenset({"sw1", "sw2"}), "port_group": frozenset({"sw1 Ethernet1", "sw2 xe-0/1"})},
        ),
    ]
)
def test_the_features_of_a_server(seen: SeenHardware, expected: dict[str, object]) -> None:
    assert features_of(seen) == expected


def test_each_feature_with_its_nodes() -> None:
    known = {N1: {"model": "R740"}, N2: {"model": "R640", "firmware": "2.1"}}
    assert by_feature(known) == {"model": {N1: "R740", N2: "R640"}, "firmware": {N2: "2.1"}}
