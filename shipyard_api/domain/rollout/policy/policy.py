"""The rollout policy of a site as a value, and what it makes of a rollout's nodes (product, section 13)."""

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import ceil

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.policy.budgets import Budget
from shipyard_api.domain.rollout.policy.gates import Gate, GateKind
from shipyard_api.domain.rollout.policy.waves import Waves
from shipyard_api.domain.rollout.policy.windows import Windows
from shipyard_api.domain.strategy.strategy import GroupName


@dataclass(frozen=True, slots=True)
class Policy:
    """What a design says under ``physical_provisioner.policy``; what is left out is None or empty.

    ``chosen``: the nodes that the selectors of waves match, by the wave's name. ``topology``: of each node, the values
    of the labels that budgets name. ``seconds``: how long a phase may take, for windows. All three are found when an
    action is created and are frozen with it.
    """

    waves: Waves | None = None
    budgets: tuple[Budget, ...] = ()
    windows: Windows | None = None
    chosen: Mapping[str, frozenset[NodeName]] = field(default_factory=dict)
    topology: Mapping[NodeName, Mapping[str, str]] = field(default_factory=dict)
    seconds: Mapping[Phase, float] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that budgets count by."""
        return tuple(dict.fromkeys(budget.by for budget in self.budgets if budget.by))

    def length(self, nodes: int, at_once: int | None, gates: Sequence[Gate] = ()) -> float:
        """Return the seconds that a number of nodes takes from its preparation to the end of its deployment.

        ``at_once``: how many may be in flight. Of gates, only a soak has a length that is known.
        """
        turns = ceil(nodes / at_once) if at_once else 1
        soaks = sum(gate.seconds for gate in gates if gate.kind is GateKind.SOAK)
        return turns * sum(self.seconds.values()) + soaks


@dataclass(frozen=True, slots=True)
class Situation:
    """The nodes of a rollout at one moment, as a policy sees them.

    ``in_flight``: sent and not settled. ``in_queue``: sent, never begun by the provisioner, and never sent again.
    ``spared``: prepared before the action began. ``withheld``: nodes that the policy has stopped.
    ``movable``: the groups that have begun, or could begin now.
    """

    nodes: Mapping[NodeName, NodeStatus]
    in_flight: Set[NodeName]
    in_queue: Set[NodeName]
    spared: Set[NodeName]
    withheld: Set[NodeName]
    groups_of: Mapping[NodeName, Sequence[GroupName]]
    movable: Container[GroupName]

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

    def can_move(self, node: NodeName) -> bool:
        """Return whether a group that holds the node has begun or could begin now."""
        return node in self.in_flight or any(name in self.movable for name in self.groups_of[node])
