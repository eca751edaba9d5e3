"""Addresses at which people look for what Drydock knows."""

from shipyard_api.adapters.drydock.links import DrydockAddresses
from tests.unit.tables import every_row

BASES = [
    "http://drydock:9000/api/v1.0",
    "http://drydock:9000/api/v1.0/",
    "http://ann:secret@drydock:9000/api/v1.0",
    "http://ann@drydock:9000/api/v1.0",
]


@every_row(BASES)
def test_nobody_and_no_password_is_in_an_address(base: str) -> None:
    places = DrydockAddresses(base)

    assert places.node("n1") == "http://drydock:9000/api/v1.0/nodes/n1/builddata?latest=true"
    assert places.job("8b1f") == "http://drydock:9000/api/v1.0/tasks/8b1f?subtaskerrors=true"


def test_a_name_stays_one_segment() -> None:
    assert DrydockAddresses("http://d").node("a/b c?") == "http://d/nodes/a%2Fb%20c%3F/builddata?latest=true"
