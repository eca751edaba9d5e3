"""A node: its fields, and the data around them."""

from dataclasses import dataclass, field
from typing import Any

from shipyard_simulators.ironic.fields import INTERFACES

HOST = "conductor-1"
DRIVERS = ("fake-hardware", "ipmi", "redfish")


@dataclass(slots=True)
class Node:
    """One node. ``number``: its position in order of creation. ``inventory``, ``plugin_data``: from its
    inspection; None before one.

    ``bios``: the settings of its board that were ever set; ``firmware``: the versions of its components.
    """

    number: int
    values: dict[str, Any]
    inventory: dict[str, Any] | None = None
    plugin_data: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    bios: dict[str, str] = field(default_factory=dict)
    firmware: dict[str, str] = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        """The node's UUID, which never changes."""
        return str(self.values["uuid"])

    @property
    def name(self) -> str:
        """The name in scenarios and in the log: the node's name, or its UUID if it has none."""
        return str(self.values["name"] or self.uuid)

    @property
    def state(self) -> str:
        """The provision state."""
        return str(self.values["provision_state"])

    @property
    def has_agent(self) -> bool:
        """Whether an agent boots on it. Fake hardware has none, so nothing waits for it."""
        return bool(self.values["driver"] != "fake-hardware")

    @property
    def internal(self) -> dict[str, Any]:
        """The conductor's own notes."""
        noted: dict[str, Any] = self.values["driver_internal_info"]
        return noted


def interfaces_of(driver: str) -> dict[str, str]:
    """Return the default interfaces of the driver."""
    own = {"fake-hardware": "fake", "ipmi": "ipmitool", "redfish": "redfish"}[driver]
    chosen = {f"{interface}_interface": own for interface in INTERFACES}
    if driver == "fake-hardware":
        return chosen | dict.fromkeys(("bios_interface", "firmware_interface", "rescue_interface"), own)
    chosen |= {"deploy_interface": "direct", "inspect_interface": "agent", "boot_interface": "ipxe"}
    chosen |= {"console_interface": "no-console"}
    if driver == "redfish":
        return chosen | {"bios_interface": own, "firmware_interface": own, "rescue_interface": "agent"}
    return chosen | {"raid_interface": "agent", "rescue_interface": "agent"}
