"""Addresses of nodes in a network of the design, and why there is none."""

from typing import Any

import pytest

from shipyard_api.domain.addressing import NoAddress, address_in, addresses
from shipyard_api.domain.documents import BAREMETAL_NODE, Document
from tests.unit.tables import every_row


def entry(network: Any, address: Any) -> dict[str, Any]:
    return {"network": network, "address": address}


def node(name: str, *entries: Any) -> Document:
    return Document(BAREMETAL_NODE, name, "site", {}, {"addressing": list(entries)})


@every_row(
    {
        "ipv4": ("10.0.0.7", "10.0.0.7"),
        "spaces": (" 10.0.0.7 ", "10.0.0.7"),
        "ipv6": ("FD00::0:7", "fd00::7"),
    },
)
def test_the_address_in_the_network_is_found(written: str, address: str) -> None:
    data = {"addressing": ["garbage", entry("oob", "10.9.9.9"), entry("mgmt", written)]}
    assert address_in(data, "mgmt") == address


@every_row(
    {
        "no-addressing": ({}, "its networks: none"),
        "others": ({"addressing": [entry("oob", "10.0.0.1"), entry("b", 1)]}, "its networks: b, oob"),
        "dhcp": ({"addressing": [entry("mgmt", "dhcp")]}, "is given by DHCP"),
        "prefix": ({"addressing": [entry("mgmt", "10.0.0.1/24")]}, "is '10.0.0.1/24', which is no"),
        "name": ({"addressing": [entry("mgmt", "host; reboot")]}, "which is no IP address"),
        "missing": ({"addressing": [{"network": "mgmt"}]}, "is None, which is no IP address"),
        "two": ({"addressing": [entry("mgmt", "10.0.0.1")] * 2}, "has 2 addresses in the network"),
    },
)
def test_a_node_without_an_address_says_why(data: Any, message: str) -> None:
    with pytest.raises(NoAddress) as caught:
        address_in(data, "mgmt")
    assert message in str(caught.value)


def test_an_address_of_two_nodes_is_the_address_of_none() -> None:
    design = [
        node("n1", entry("mgmt", "10.0.0.1")),
        node("n2", entry("mgmt", "10.0.0.2")),
        node("n3", entry("mgmt", "10.0.0.1")),
        node("n4", entry("mgmt", "dhcp")),
        Document("drydock/HostProfile/v1", "n5", "site", {}, {"addressing": [entry("mgmt", "10.0.0.5")]}),
    ]
    found, missing = addresses(design, "mgmt")
    assert found == {"n2": "10.0.0.2"}
    assert {name: why.split(" ")[-1] for name, why in missing.items()} == {"n1": "n3", "n3": "n1", "n4": "it"}
