"""Sightings: what peers showed of deployed nodes when the action that deployed them had ended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.sightings import LeftNode, Sighting, TakenDownNode
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.actions import ActionRecord


@dataclass(frozen=True, slots=True)
class Unsighted:
    """An ended action whose nodes have yet to be sighted; ``parameters`` as they were stored."""

    action: ActionId
    name: ActionName
    parameters: JsonObject
    revision: Revision | None
    ended_at: datetime


class Sightings(Protocol):
    """Nodes that actions left deployed, with their sightings."""

    def last_of(self, names: Collection[ActionName], *, succeeded: bool) -> ActionRecord | None:
        """Return the newest ended action that deployed the site; ``succeeded``: only one that did."""

    def left(self, since: ActionId) -> Sequence[LeftNode]:
        """Return the nodes that this action or a later one left deployed, as the newest one that worked on each did.

        An empty id: of all actions.
        """

    def taken_down(self, since: ActionId) -> Sequence[TakenDownNode]:
        """Return the nodes whose newest action, this one or a later one, took them down and ended without them."""

    def at_work(self) -> Sequence[ActionRecord]:
        """Return the actions that have not ended, in order of creation."""

    def nodes_at_work(self, actions: Collection[ActionId]) -> Mapping[NodeName, ActionId]:
        """Return the nodes that these actions hold, with those that stragglers work on."""

    def due(self, *, now: datetime, pause: float) -> Sequence[Unsighted]:
        """Return ended actions to sight, and postpone them by ``pause`` seconds; none while a site action goes on."""

    def record(
        self, sightings: Mapping[NodeName, tuple[ActionId, Sighting]], done: Collection[ActionId], *, now: datetime
    ) -> None:
        """Store sightings in place of the nodes' earlier ones, and count these actions as sighted."""
