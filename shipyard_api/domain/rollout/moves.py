"""The moves of a rollout and their outcomes, and how many may be in flight at once."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from msgspec import Struct, field

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName

SENT_AS = {Phase.PREPARE: NodeStatus.NOT_STARTED, Phase.DEPLOY: NodeStatus.PREPARED}
"""The status of the nodes that a move of a phase sends."""

NEXT = {status: phase for phase, status in SENT_AS.items()}
"""The phase that nodes of a status wait for."""

REACHES = {Phase.PREPARE: NodeStatus.PREPARED, Phase.DEPLOY: NodeStatus.SUCCESS}
"""The status that they have when the phase has succeeded."""


class Move(Struct, frozen=True):
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


class Outcome(Struct, frozen=True):
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


class OnTimeout(Enum):
    """What a timeout of a phase does to its group; the values are the words of the deployment configuration."""

    FAIL_GROUP = "fail_group"
    JUDGE_CRITERIA = "judge_criteria"


class Mode(NamedTuple):
    """How much may be in flight at once, and when a node is deployed. The default is one group after another.

    ``max_nodes_in_flight`` is None for no bound. ``deploy_as_prepared``: once the group can no longer
    miss its prepare criteria, a node is deployed without waiting for the others to be prepared.
    """

    max_parallel_groups: int = 1
    max_nodes_in_flight: int | None = None
    deploy_as_prepared: bool = False
    on_timeout: OnTimeout = OnTimeout.FAIL_GROUP

    @property
    def wants_progress(self) -> bool:
        """Whether nodes of a move count as done before the move has ended."""
        return self.deploy_as_prepared or self.max_nodes_in_flight is not None


SERIAL = Mode()
