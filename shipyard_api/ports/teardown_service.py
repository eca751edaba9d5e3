"""A service that does whole operations of a teardown by itself: a Promenade with the API of seed 004."""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_health import Health
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.errors import Refused


class NoTeardownApi(Refused):
    """The Promenade has no teardown API (contract: promenade, 5.3)."""


class NodeNotFound(Refused):
    """The service does not know the node (404 NotFound)."""


class ServiceReport(Struct, frozen=True):
    """The messages of a success: one for each pod, label or member; ``warnings``: those that report an error."""

    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class TeardownService(Protocol):
    """The service of one site."""

    @property
    def name(self) -> str:
        """The system's name, as operators know it (``Promenade``)."""

    def check_available(self, node: NodeName) -> None:
        """Return if the teardown API exists; raise NoTeardownApi if not. Changes nothing."""

    def run(
        self,
        operation: Operation,
        node: NodeName,
        limits: TeardownLimits,
        design: str,
        *,
        is_wanted: Callable[[], bool],
    ) -> ServiceReport:
        """Run one operation to its end; it may take as long as its limit says.

        ``design``: the address of the design, for operations on etcd. ``is_wanted`` is asked every few seconds; once it
        is False, waiting ends with Unavailable, and the service may still be at work. Repeatable: completed work is
        passed over. Raises Refused with the reason and all messages for a failure, NodeNotFound, and Unavailable
        where the outcome is unknown.
        """

    def etcd_health(self, design: str) -> Mapping[str, Health]:
        """Return the health of each etcd cluster by name."""
