"""The moves of a rollout, and their outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName

SENT_AS = {Phase.PREPARE: NodeStatus.NOT_STARTED, Phase.DEPLOY: NodeStatus.PREPARED}
"""The status of the nodes that a move of a phase sends."""

NEXT = {status: phase for phase, status in SENT_AS.items()}
"""The phase that nodes of a status wait for."""

REACHES = {Phase.PREPARE: NodeStatus.PREPARED, Phase.DEPLOY: NodeStatus.SUCCESS}
"""The status that they have when the phase has succeeded."""


@dataclass(frozen=True, slots=True)
class Move:
    """Nodes to send into a phase for a group, in order of name. An empty one needs no provisioner.

    ``batch`` counts the moves of one phase of one group from 1; there are more only where a mode bounds or streams.
    """

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]
    batch: int = 1

    def is_part_of(self, other: "Move") -> bool:
        """Return whether it is the other move, or that move with fewer nodes."""
        same = (self.group, self.phase, self.batch) == (other.group, other.phase, other.batch)
        return same and (self.nodes == other.nodes or (bool(self.nodes) and set(self.nodes) <= set(other.nodes)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a move ended: the nodes that succeeded, and whether it reached its time limit.

    Every other node of the move has failed, also at a timeout (product, section 3). ``never_begun``: the provisioner
    left the move in its queue for too long, and the nodes keep their status. ``why`` explains either limit.
    ``held``, ``hardware``: the nodes of ``reasons`` were not sent, because of holds or of their hardware.
    """

    succeeded: frozenset[NodeName] = frozenset()
    timed_out: bool = False
    reasons: Mapping[NodeName, str] = field(default_factory=dict)
    why: str = ""
    never_begun: bool = False
    held: bool = False
    hardware: bool = False
