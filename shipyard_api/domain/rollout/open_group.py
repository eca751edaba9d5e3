"""A group that has begun and not ended: the nodes to send, and the number of members in each status."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus


@dataclass(slots=True)
class OpenGroup:
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
