"""The groups of a rollout that have not begun and wait for no other, in the order of the document."""

import heapq
from collections.abc import Iterator, Mapping

from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.strategy.strategy import GroupName


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
