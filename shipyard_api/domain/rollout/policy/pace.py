"""What a pace is asked with, the situation of a rollout, and what it answers (product, section 13)."""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from datetime import UTC, datetime

from msgspec import Struct, field

from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.policy.gates import GateState
from shipyard_api.domain.strategy.criteria import Shortfall
from shipyard_api.domain.strategy.strategy import GroupName

NO_TIME = datetime.fromtimestamp(0, UTC)
"""The time where a pace does not depend on any."""

WavePlace = tuple[str, int]
"""The name of a course and the number of a wave in it."""


class Situation(Struct, frozen=True):
    """The nodes of a rollout at one moment, as a pace sees them.

    ``in_flight``: sent and not settled. ``in_queue``: sent, never begun by the provisioner, and never sent again.
    ``spared``: prepared before the action began. ``withheld``: nodes that the pace has stopped.
    ``movable``: whether a group has begun, or could begin now. ``streaming``: groups that deploy each node as soon as
    it is prepared. ``groups``: the status of each group.
    """

    nodes: Mapping[NodeName, NodeStatus]
    in_flight: Set[NodeName]
    in_queue: Set[NodeName]
    spared: Set[NodeName]
    withheld: Set[NodeName]
    groups_of: Mapping[NodeName, Sequence[GroupName]]
    movable: Callable[[GroupName], bool]
    streaming: Set[GroupName] = field(default_factory=frozenset)
    groups: Mapping[GroupName, GroupStatus] = field(default_factory=dict)

    def has_begun(self, node: NodeName) -> bool:
        """Return whether the action has sent the node."""
        if node in self.in_flight or node in self.in_queue:
            return True
        status = self.nodes[node]
        return status is not NodeStatus.NOT_STARTED and node not in self.spared

    def may_begin(self, node: NodeName) -> bool:
        """Return whether the node was not sent and still can be."""
        return node not in self.withheld and not self.has_begun(node)

    def has_ended(self, node: NodeName) -> bool:
        """Return whether the action does nothing more with the node."""
        if node in self.in_flight:
            return False
        return (
            node in self.withheld
            or node in self.in_queue
            or self.nodes[node] in (NodeStatus.SUCCESS, NodeStatus.FAILURE)
        )

    def is_lost(self, node: NodeName) -> bool:
        """Return whether the action has sent the node and cannot deploy it any more."""
        return self.nodes[node] is NodeStatus.FAILURE or node in self.in_queue

    def is_unavailable(self, node: NodeName) -> bool:
        """Return whether the action has sent the node and has not deployed it."""
        return self.has_begun(node) and self.nodes[node] is not NodeStatus.SUCCESS

    def is_away(self, node: NodeName) -> bool:
        """Return whether the action has sent the node and goes on with it."""
        return self.has_begun(node) and not self.has_ended(node)

    def can_move(self, node: NodeName) -> bool:
        """Return whether a group that holds the node has begun or could begin now."""
        return node in self.in_flight or any(map(self.movable, self.groups_of[node]))


class Blocked(Struct, frozen=True):
    """Why nodes may not begin now. ``until``: when to decide again; None while running work must end first.

    ``gate``: the gate that must be passed, and the wave that it follows; ``unmet``: its newest answer that does not
    pass it. ``never``: the reason is permanent.
    """

    rule: str
    why: str
    until: datetime | None = None
    gate: tuple[WavePlace, GateState] | None = None
    unmet: str = ""
    never: bool = False


class OpenGate(Struct, frozen=True):
    """A gate that must be passed now, after the ``wave`` at ``place``. ``nodes``: the deployed ones of the wave."""

    place: WavePlace
    state: GateState
    nodes: tuple[NodeName, ...]
    wave: str = ""


class Admission(Struct, frozen=True):
    """The nodes that may move now, and others with the reason why they may not."""

    nodes: Collection[NodeName] = ()
    refused: tuple[tuple[Blocked, Sequence[NodeName]], ...] = ()


class Stop(Struct, frozen=True):
    """Nodes that a rule lets never begin. ``nodes`` in order of name."""

    rule: str
    why: str
    nodes: tuple[NodeName, ...]


class WaveState(Struct, frozen=True):
    """A wave at one moment. ``missed``: the criteria that it cannot meet any more. ``begun``: nodes that were sent."""

    place: WavePlace
    name: str
    nodes: int
    begun: int
    lost: int
    ended: bool
    missed: tuple[Shortfall, ...]
