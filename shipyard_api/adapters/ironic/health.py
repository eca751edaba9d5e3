"""The health that Ironic shows of nodes: what their boards report over Redfish (contract: ironic-provisioner, 1.109).

Ironic renews it with its power sync. It is OK, Warning or Critical, and nothing where a board does not report it.
"""

from collections.abc import Callable, Mapping

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Refused

from . import Unhealthy
from .client import SYSTEM, IronicClient
from .listing import HEALTH_SINCE, Listing

_UNHEALTHY = {Unhealthy.CRITICAL: ("Critical",), Unhealthy.WARNING: ("Warning", "Critical")}


def reader(client: IronicClient, listing: Listing, unhealthy: Unhealthy) -> Callable[[], Mapping[NodeName, str]] | None:
    """Return how the health of nodes is read, as the port's capability; None if no health is to hold a node."""
    if unhealthy is Unhealthy.NONE:
        return None
    words = _UNHEALTHY[unhealthy]

    def read() -> Mapping[NodeName, str]:
        version = client.version()
        if version < HEALTH_SINCE:
            detail = f"this Ironic speaks up to 1.{version}, and shows health from 1.{HEALTH_SINCE} on"
            raise Refused(SYSTEM, "health", f"{detail}; set [ironic] hold_unhealthy to none", whole_site=True)
        shown = {name: node.health for name, node in listing.shared().items()}
        bad = {name: f"Ironic reports health {health}" for name, health in shown.items() if health in words}
        return bad | {name: "" for name, health in shown.items() if health == "OK"}

    return read
