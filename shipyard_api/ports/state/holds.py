"""Holds on nodes (product, section 6). A hold is active until it is released or, by the site's clock, has expired."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.holds import Hold, HoldClass, HoldKind
from shipyard_api.domain.nodes import NodeName


class NewHold(Struct, frozen=True):
    """A hold to place."""

    node: NodeName
    kind: HoldKind
    reason: str
    user: str
    until: datetime | None = None
    hold_class: HoldClass = HoldClass.ALL


class PlacedHold(Struct, frozen=True):
    """A hold, and the actions whose work on the node was submitted before it and goes on."""

    hold: Hold
    under_way: Sequence[ActionId]
