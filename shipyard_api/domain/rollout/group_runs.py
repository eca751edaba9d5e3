"""Which groups of a strategy succeed in which simulated runs.

The outcome of a node in a phase is drawn once a run, whichever group sends it. So a group that begins succeeds exactly
if enough of its members pass both phases: its members are judged when all of them are settled, and a node that passes
both has passed the first. Neither the order of the groups nor their mode changes that; a property test plays the
rollout.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec import Struct, field

from shipyard_api.domain.groups import GroupStatus, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.policy.pace import NO_TIME
from shipyard_api.domain.rollout.run_sets import NodeCount, RunSet
from shipyard_api.domain.strategy.criteria import SuccessCriteria, needed
from shipyard_api.domain.strategy.strategy import GroupName


class Progress(Struct, frozen=True):
    """How far a rollout has come. Names that are not given have not started.

    ``running``: each running move with the seconds that it has run. ``uncounted``: nodes that no criterion counts.
    ``spared``, ``withheld``: as of a rollout. ``at``: the moment, which counts only with a policy.
    """

    nodes: Mapping[NodeName, NodeStatus] = field(default_factory=dict)
    groups: Mapping[GroupName, GroupStatus] = field(default_factory=dict)
    reasons: Mapping[GroupName, Reason] = field(default_factory=dict)
    running: Mapping[Move, float] = field(default_factory=dict)
    uncounted: frozenset[NodeName] = frozenset()
    spared: Collection[NodeName] = ()
    withheld: Mapping[NodeName, str] = field(default_factory=dict)
    at: datetime = NO_TIME


NOTHING_DONE = Progress()


class NodeRuns(Struct, frozen=True):
    """The runs in which a node can be prepared, and those in which it can also be deployed."""

    prepared: RunSet
    deployed: RunSet


class GroupRuns:
    """The groups of a strategy in all runs; ``every`` is the set of all runs, ``order`` that of the groups in each."""

    def __init__(
        self, membership: Membership, nodes: Mapping[NodeName, NodeRuns], progress: Progress, every: RunSet
    ) -> None:
        self._groups, self._members, self._nodes = membership.groups, membership.members, nodes
        self._progress, self._statuses, self._every = progress, progress.groups, every
        self.order = tuple(membership.serial)
        self._counted = {name: members - progress.uncounted for name, members in membership.members.items()}
        self._deployed = {
            name: NodeCount(nodes[node].deployed for node in members) for name, members in self._counted.items()
        }
        self._enough = {name: self._meets(name, group.success_criteria) for name, group in self._groups.items()}
        self.succeeds = self._succeed({})
        self.action = self._action(self.succeeds)

    def open(self, name: GroupName) -> bool:
        """Return whether the group has not ended."""
        return self._statuses.get(name) not in (GroupStatus.SUCCESS, GroupStatus.FAILED)

    def counted(self, name: GroupName) -> int:
        """Return how many members of the group its criteria count."""
        return len(self._counted[name])

    def failures(self, name: GroupName) -> int:
        """Return in how many runs the group begins and fails."""
        return (self._begins(name, self.succeeds) & ~self.succeeds[name]).bit_count() if self.open(name) else 0

    def action_with(self, name: GroupName, criteria: SuccessCriteria | None) -> RunSet:
        """Return the runs in which the action succeeds if the group has other criteria."""
        enough = self._every if criteria is None else self._meets(name, criteria)
        return self._action(self._succeed({name: enough}))

    def deployed_nodes(self) -> Mapping[NodeName, RunSet]:
        """Return the runs in which each node is deployed in the end: a group that holds it must reach its deployment.

        Groups are taken one after another, as a rollout in the default mode takes them.
        """
        done = {node for node, status in self._progress.nodes.items() if status is NodeStatus.SUCCESS}
        sent = {node: self._every if node in done else 0 for node in self._nodes}
        for name in self.order:
            # A node that an earlier group failed to deploy no longer counts as prepared.
            prepared = NodeCount(
                self._nodes[node].prepared & (self._nodes[node].deployed | ~sent[node]) for node in self._counted[name]
            )
            reached = self._begins(name, self.succeeds)
            if self._statuses.get(name) is not GroupStatus.DEPLOYING:
                reached &= prepared.at_least(self._needed(name), self._every)
            for node in self._members[name] if reached and self.open(name) else ():
                sent[node] |= reached
        return {node: runs.deployed & sent[node] for node, runs in self._nodes.items()}

    def _needed(self, name: GroupName) -> int:
        return needed(self._groups[name].success_criteria, self.counted(name))

    def _meets(self, name: GroupName, criteria: SuccessCriteria) -> RunSet:
        return self._deployed[name].at_least(needed(criteria, self.counted(name)), self._every)

    def _begins(self, name: GroupName, succeeds: Mapping[GroupName, RunSet]) -> RunSet:
        runs = self._every
        if self._statuses.get(name, GroupStatus.NOT_STARTED) is GroupStatus.NOT_STARTED:
            for parent in self._groups[name].depends_on:
                runs &= succeeds[parent]
        return runs

    def _succeed(self, replaced: Mapping[GroupName, RunSet]) -> dict[GroupName, RunSet]:
        succeeds: dict[GroupName, RunSet] = {}
        for name in self.order:
            if self.open(name):
                succeeds[name] = self._begins(name, succeeds) & replaced.get(name, self._enough[name])
            else:
                succeeds[name] = self._every if self._statuses[name] is GroupStatus.SUCCESS else 0
        return succeeds

    def _action(self, succeeds: Mapping[GroupName, RunSet]) -> RunSet:
        runs = self._every
        for name, group in self._groups.items():
            if group.critical:
                runs &= succeeds[name]
        return runs
