"""Which nodes the groups of a strategy hold."""

import heapq
from collections.abc import Iterable, Iterator, Mapping

from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy


class Membership:
    """The groups of a strategy with their members. It never changes, and several rollouts may share it."""

    def __init__(self, strategy: Strategy, members: Mapping[GroupName, Iterable[NodeName]]) -> None:
        self.groups: dict[GroupName, DeploymentGroup] = {group.name: group for group in strategy.groups}
        self.rank = {name: position for position, name in enumerate(self.groups)}
        self.by_rank = list(self.groups)
        self.members: dict[GroupName, frozenset[NodeName]] = {name: frozenset(members[name]) for name in self.groups}
        # In order of name, so that the statuses alone can be stored.
        self.nodes: dict[NodeName, NodeStatus] = dict.fromkeys(
            sorted(frozenset[NodeName]().union(*self.members.values())), NodeStatus.NOT_STARTED
        )
        self.groups_of: dict[NodeName, list[GroupName]] = {node: [] for node in self.nodes}
        for name, selected in self.members.items():
            for node in selected:
                self.groups_of[node].append(name)
        self.children: dict[GroupName, list[GroupName]] = {name: [] for name in self.groups}
        for group in strategy.groups:
            for parent in group.depends_on:
                self.children[parent].append(group.name)
        self.serial = {name: position for position, name in enumerate(self._serial_order())}

    def _serial_order(self) -> Iterator[GroupName]:
        """Return the groups in the order in which they begin one after another, whichever of them begin.

        A group that fails only takes out groups that come later; it does not change the order of the others.
        """
        waiting = {name: len(group.depends_on) for name, group in self.groups.items()}
        ready = [self.rank[name] for name, count in waiting.items() if not count]
        while ready:
            name = self.by_rank[heapq.heappop(ready)]
            yield name
            for child in self.children[name]:
                waiting[child] -= 1
                if not waiting[child]:
                    heapq.heappush(ready, self.rank[child])
