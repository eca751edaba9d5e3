"""Holds on nodes (product, section 6). A hold is active until it is released or, by the site's clock, has expired."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.holds import Hold, HoldId, HoldKind
from shipyard_api.domain.nodes import NodeName


@dataclass(frozen=True, slots=True)
class NewHold:
    """A hold to place."""

    node: NodeName
    kind: HoldKind
    reason: str
    user: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PlacedHold:
    """A hold, and the actions whose work on the node was submitted before it and goes on."""

    hold: Hold
    under_way: Sequence[ActionId]


class Holds(Protocol):
    """Holds. The engine checks them in the transaction that writes an intent, see ``Turns.held``."""

    def place(self, hold: NewHold) -> PlacedHold:
        """Place a hold. Once it is committed, no intent on its node is written any more.

        Each action whose work on the node is under way gets a note. If the same user has placed the same hold before,
        and it is active, that one is returned.
        """

    def get(self, hold: HoldId) -> Hold | None:
        """Return a hold."""

    def release(self, hold: HoldId, user: str) -> Hold | None:
        """Release a hold and return it; None if there is none. A hold that has ended stays as it is."""

    def active(self, nodes: Collection[NodeName] | None = None) -> Sequence[Hold]:
        """Return the active holds on these nodes (None: all), in order of node and time."""

    def latest(self, nodes: Collection[NodeName] | None = None, *, limit: int) -> Sequence[Hold]:
        """Return holds on these nodes (None: all), ended ones too, the newest first."""
