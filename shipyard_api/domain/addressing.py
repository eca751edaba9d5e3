"""Addresses of nodes, as their BaremetalNode documents write them (Drydock's ``addressing``)."""

import ipaddress
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from shipyard_api.domain.documents import BAREMETAL_NODE, Document
from shipyard_api.domain.json_types import member, objects
from shipyard_api.domain.nodes import NodeName

DHCP = "dhcp"


class NoAddress(ValueError):
    """A node without a usable address in a network; the message says why and what to write."""


def address_in(data: Any, network: str) -> str:
    """Return the address of a node in a network, from the ``data`` of its document. Raises NoAddress."""
    entries = objects(member(data, "addressing"))
    addresses = [entry.get("address") for entry in entries if entry.get("network") == network]
    if not addresses:
        networks = ", ".join(sorted({str(entry["network"]) for entry in entries if entry.get("network")})) or "none"
        raise NoAddress(f"it has no address in the network '{network}'; its networks: {networks}")
    if len(addresses) > 1:
        raise NoAddress(f"it has {len(addresses)} addresses in the network '{network}'; write one")
    address = addresses[0]
    if isinstance(address, str) and address.strip().lower() == DHCP:
        raise NoAddress(f"its address in the network '{network}' is given by DHCP, so the design does not know it")
    try:
        # A number would be read as an address, too.
        return str(ipaddress.ip_address(address.strip() if isinstance(address, str) else ""))
    except ValueError:
        raise NoAddress(f"its address in the network '{network}' is {address!r:.100}, which is no IP address") from None


def networks_of(documents: Iterable[Document]) -> dict[NodeName, dict[str, str]]:
    """Return the fixed addresses of each node of a design, by network; those that are unusable are left out."""
    networks: dict[NodeName, dict[str, str]] = {}
    for document in documents:
        if document.schema != BAREMETAL_NODE:
            continue
        data = document.data
        names = [entry.get("network") for entry in objects(member(data, "addressing"))]
        node_networks = networks.setdefault(NodeName(document.name), {})
        for network in names:
            if isinstance(network, str):
                with suppress(NoAddress):
                    node_networks[network] = address_in(data, network)
    return networks


def addresses(documents: Iterable[Document], network: str) -> tuple[dict[NodeName, str], dict[NodeName, str]]:
    """Return the address of each node of a design in a network, and why others have none.

    An address that several nodes have belongs to none of them: a task must never run on another node.
    """
    addresses_of: dict[NodeName, str] = {}
    missing: dict[NodeName, str] = {}
    owners: dict[str, NodeName] = {}
    for document in documents:
        if document.schema != BAREMETAL_NODE:
            continue
        name = NodeName(document.name)
        try:
            address = address_in(document.data, network)
        except NoAddress as error:
            missing[name] = str(error)
            continue
        if (other := owners.setdefault(address, name)) != name:
            missing[name] = f"its address {address} in the network '{network}' is also that of {other}"
            missing[other] = f"its address {address} in the network '{network}' is also that of {name}"
            addresses_of.pop(other, None)
        else:
            addresses_of[name] = address
    return addresses_of, missing
