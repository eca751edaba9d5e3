"""What lets the nodes of a rollout begin: the rules of a policy, or by default nothing stops them (product, 13).

A pace is asked with the situation of the rollout at that moment, and keeps nothing of it. It only knows what does not
follow from the statuses of nodes: when waves ended, and the answers of gates.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shipyard_api.domain.groups import GroupStatus, Phase
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.policy.gates import Answer, GateState, Unmet
from shipyard_api.domain.strategy.criteria import Shortfall
from shipyard_api.domain.strategy.strategy import GroupName

NO_TIME = datetime.fromtimestamp(0, UTC)
"""The time where a pace does not depend on any."""

WavePlace = tuple[str, int]
"""The name of a course and the number of a wave in it."""


@dataclass(frozen=True, slots=True)
class Situation:
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


@dataclass(frozen=True, slots=True)
class Blocked:
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


@dataclass(frozen=True, slots=True)
class OpenGate:
    """A gate that must be passed now, after the ``wave`` at ``place``. ``nodes``: the deployed ones of the wave."""

    place: WavePlace
    state: GateState
    nodes: tuple[NodeName, ...]
    wave: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """The nodes that may move now, and others with the reason why they may not."""

    nodes: Collection[NodeName] = ()
    refused: tuple[tuple[Blocked, Sequence[NodeName]], ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Nodes that a rule lets never begin. ``nodes`` in order of name."""

    rule: str
    why: str
    nodes: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class WaveState:
    """A wave at one moment. ``missed``: the criteria that it cannot meet any more. ``begun``: nodes that were sent."""

    place: WavePlace
    name: str
    nodes: int
    begun: int
    lost: int
    ended: bool
    missed: tuple[Shortfall, ...]


class Pace:
    """Decides which nodes of a rollout may move now. This one, of a rollout without a policy, admits all.

    ``refuses``: whether it can ever refuse a node. Then a group moves in the parts that are admitted; otherwise nothing
    but ``admit`` is asked. ``has_waves``: whether nodes follow each other in waves.
    """

    refuses = False
    has_waves = False

    def admit(
        self, situation: Situation, group: GroupName, phase: Phase, nodes: Collection[NodeName], now: datetime
    ) -> Admission:
        """Return which of these nodes of a group, in order of name, may enter the phase now, and why others may not."""
        return Admission(nodes)

    def observe(self, situation: Situation, now: datetime) -> Sequence[WaveState]:
        """Note when waves ended, and return those that have ended since the last call."""
        return ()

    def stops(self, situation: Situation, now: datetime) -> Iterable[Stop]:
        """Return the nodes that will never be admitted, with the reasons."""
        return ()

    def wave(self, place: WavePlace) -> tuple[str, frozenset[NodeName]]:
        """Return the name and the nodes of a wave. Raises LookupError without such a wave."""
        raise LookupError(f"no wave {place}")

    def answer(self, place: WavePlace, index: int, answer: Answer | Unmet) -> None:
        """Keep the answer of a gate; one that does not pass it is only shown. Raises LookupError as ``wave``."""
        raise LookupError(f"no wave {place}")

    def leaving_out(self, nodes: frozenset[NodeName]) -> "Pace":
        """Return the same pace that counts all nodes but these."""
        return self

    def copy(self) -> "Pace":
        """Return the same pace for another rollout that goes on from here."""
        return self

    def to_json(self) -> JsonObject | None:
        """Return the stored form of what it knows, None if that is nothing."""
        return None


ALL_AT_ONCE = Pace()
