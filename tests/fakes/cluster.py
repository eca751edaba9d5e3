"""A cluster in memory, for steps and use cases: who is ready is what the test says, and so is when it cannot answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError, Unavailable


@dataclass
class FakeCluster:
    """A cluster with the nodes of ``members``, which may be changed at any time. ``asked`` is what was asked for."""

    members: dict[NodeName, ObservedMember] = field(default_factory=dict)
    name: str = "Fake"
    asked: list[frozenset[NodeName]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._failing: list[PeerError] = []

    # What tests do.

    def join(self, *nodes: NodeName, ready: bool = True, why: str = "") -> None:
        """Let nodes be in the cluster, and be ready or not."""
        self.members.update(dict.fromkeys(nodes, ObservedMember(ready, why)))

    def fail_next(self, error: PeerError | None = None, *, times: int = 1) -> None:
        """Let the next calls raise this error, or one that says that there is no answer."""
        self._failing.extend([error or Unavailable(self.name, "readiness", "broken on purpose")] * times)

    # The port.

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, ObservedMember]:
        self.asked.append(frozenset(nodes))
        if self._failing:
            raise self._failing.pop(0)
        missing = ObservedMember(ready=False, why="not in the cluster", joined=False)
        return {node: self.members.get(node, missing) for node in nodes}
