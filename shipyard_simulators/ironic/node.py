"""A node: its fields, and what belongs to it without being a field."""

from dataclasses import dataclass, field
from typing import Any

from shipyard_simulators.ironic.fields import INTERFACES

HOST = "conductor-1"
DRIVERS = ("fake-hardware", "ipmi", "redfish")


@dataclass(slots=True)
class Node:
    """One machine. ``number``: its place in the order of creation. ``inventory``: None before an inspection."""

    number: int
    values: dict[str, Any]
    inventory: dict[str, Any] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def uuid(self) -> str:
        """What never changes."""
        return str(self.values["uuid"])

    @property
    def name(self) -> str:
        """What scenarios and the log call it: its name, or its uuid if it has none."""
        return str(self.values["name"] or self.uuid)

    @property
    def state(self) -> str:
        """Its provision state."""
        return str(self.values["provision_state"])

    @property
    def has_agent(self) -> bool:
        """Whether an agent is booted on it; fake hardware has none, and nothing to wait for."""
        return bool(self.values["driver"] != "fake-hardware")

    @property
    def internal(self) -> dict[str, Any]:
        """What the conductor notes for itself."""
        noted: dict[str, Any] = self.values["driver_internal_info"]
        return noted


def interfaces_of(driver: str) -> dict[str, str]:
    """Return the interfaces that a node of the driver has unless told otherwise."""
    own = {"fake-hardware": "fake", "ipmi": "ipmitool", "redfish": "redfish"}[driver]
    chosen = {f"{interface}_interface": own for interface in INTERFACES}
    if driver == "fake-hardware":
        return chosen | dict.fromkeys(("bios_interface", "firmware_interface", "rescue_interface"), own)
    chosen |= {"deploy_interface": "direct", "inspect_interface": "agent", "boot_interface": "ipxe"}
    chosen |= {"console_interface": "no-console"}
    if driver == "redfish":
        return chosen | {"bios_interface": own, "firmware_interface": own, "rescue_interface": "agent"}
    return chosen | {"raid_interface": "agent", "rescue_interface": "agent"}
