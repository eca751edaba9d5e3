"""The groups of a rollout that have begun and not ended, and those that wait for no other."""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from shipyard_api.domain.groups import GroupStatus, Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.strategy.strategy import GroupName


class OpenGroup(Struct):
    """A group that has begun and not ended.

    ``to_prepare`` (in order of name) and ``to_deploy`` are the nodes that it could send now. The numbers count members
    by status, in flight or not. ``batches`` are the moves it has made. ``not_started`` and ``prepared`` leave out the
    nodes in a queue that the rollout has given up on; ``prepared_in_queue`` counts the prepared ones of those.
    """

    to_prepare: dict[NodeName, None]
    to_deploy: dict[NodeName, None]
    not_started: int
    prepared: int
    prepared_in_queue: int
    succeeded: int
    batches: dict[Phase, int]

    @classmethod
    def of(
        cls,
        members: Iterable[NodeName],
        nodes: Mapping[NodeName, NodeStatus],
        in_queue: Collection[NodeName],
        in_flight: Collection[NodeName],
        batches: Mapping[Phase, int],
    ) -> "OpenGroup":
        """Return the group with these members, from the statuses of all nodes."""
        waiting: list[NodeName] = []
        prepared: list[NodeName] = []
        prepared_in_queue = succeeded = 0
        for node in members:
            match nodes[node]:
                case NodeStatus.SUCCESS:
                    succeeded += 1
                case status if node in in_queue:
                    prepared_in_queue += status is NodeStatus.PREPARED
                case NodeStatus.NOT_STARTED:
                    waiting.append(node)
                case NodeStatus.PREPARED:
                    prepared.append(node)
        return cls(
            dict.fromkeys(sorted(node for node in waiting if node not in in_flight)),
            dict.fromkeys(node for node in prepared if node not in in_flight),
            len(waiting),
            len(prepared),
            prepared_in_queue,
            succeeded,
            dict(batches),
        )

    def settle(self, before: NodeStatus, status: NodeStatus) -> None:
        """Count a member whose status has changed."""
        if before is NodeStatus.NOT_STARTED:
            self.not_started -= 1
        else:
            self.prepared -= 1
        if status is NodeStatus.PREPARED:
            self.prepared += 1
        elif status is NodeStatus.SUCCESS:
            self.succeeded += 1

    def give_up(self, phase: Phase) -> None:
        """Count a member whose move in this phase never began."""
        if phase is Phase.PREPARE:
            self.not_started -= 1
        else:
            self.prepared -= 1
            self.prepared_in_queue += 1


class ReadyGroups:
    """The groups whose parents have all succeeded. The cost over a whole rollout is linear in groups and dependencies.

    ``statuses``: those of the rollout, which change while it runs.
    """

    def __init__(self, membership: Membership, statuses: Mapping[GroupName, GroupStatus]) -> None:
        self._rank, self._by_rank, self._children = membership.rank, membership.by_rank, membership.children
        self._statuses = statuses
        self._waiting = {
            name: len([parent for parent in group.depends_on if statuses[parent] is not GroupStatus.SUCCESS])
            for name, group in membership.groups.items()
            if statuses[name] is GroupStatus.NOT_STARTED
        }
        self._ready = [self._rank[name] for name, count in self._waiting.items() if not count]
        heapq.heapify(self._ready)

    def __bool__(self) -> bool:
        return bool(self._ready)

    def __contains__(self, name: GroupName) -> bool:
        return self._statuses[name] is GroupStatus.NOT_STARTED and not self._waiting[name]

    def __iter__(self) -> Iterator[GroupName]:
        """Return the groups in order. Of thousands, hardly more than the first is asked for."""
        if self._ready:
            yield self._by_rank[self._ready[0]]
            left = self._ready.copy()
            heapq.heappop(left)
            while left:
                yield self._by_rank[heapq.heappop(left)]

    def leave(self, name: GroupName) -> None:
        """Take a group out, because it begins; a policy may let others begin before the first."""
        if self._ready[0] == self._rank[name]:
            heapq.heappop(self._ready)
        else:
            self._ready.remove(self._rank[name])
            heapq.heapify(self._ready)

    def succeeded(self, name: GroupName) -> None:
        """Add the groups that waited for this one alone."""
        for child in self._children[name]:
            if child in self._waiting:
                self._waiting[child] -= 1
                if not self._waiting[child] and self._statuses[child] is GroupStatus.NOT_STARTED:
                    heapq.heappush(self._ready, self._rank[child])
