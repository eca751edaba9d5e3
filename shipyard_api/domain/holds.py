"""Holds: while a node is held, no action touches it (product, section 6)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import NewType

from shipyard_api.domain.nodes import NodeName

HoldId = NewType("HoldId", str)
"""A ULID."""

OVERRIDDEN = "overridden_holds"
"""The input of an action that lists the ids of the holds that its creator overrode with ``force``."""

SHIPYARD = "shipyard"
"""Who has placed a hold that Shipyard placed by itself."""


class HoldKind(Enum):
    """Why a node is held, as a word on the wire. Only Shipyard places ``failed``, after failures, and ``late``."""

    OPERATOR = "operator"
    MAINTENANCE = "maintenance"
    HARDWARE = "hardware"
    FAILED = "failed"
    LATE = "late"


BY_OPERATORS = tuple(kind for kind in HoldKind if kind not in (HoldKind.FAILED, HoldKind.LATE))
"""The kinds of holds that operators place."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold on a node. ``until``: when it ends by itself, None for never. Both ``released`` are set, or none."""

    id: HoldId
    node: NodeName
    kind: HoldKind
    reason: str
    placed_by: str
    placed_at: datetime
    until: datetime | None = None
    released_by: str | None = None
    released_at: datetime | None = None

    def __str__(self) -> str:
        """Return the hold as part of a sentence about its node."""
        until = f" until {self.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if self.until else ""
        return f"held ({self.kind.value}) by {self.placed_by}{until}: {self.reason}"


def by_node(holds: Iterable[Hold]) -> Mapping[NodeName, str]:
    """Return why each held node is held; several holds on one node are joined."""
    found: dict[NodeName, str] = {}
    for hold in holds:
        found[hold.node] = f"{found[hold.node]}; {hold}" if hold.node in found else str(hold)
    return found
