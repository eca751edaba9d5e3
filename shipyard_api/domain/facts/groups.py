"""Facts about the deployment groups of a rollout (seed 000)."""

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import GroupStatus, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.criteria import Shortfall
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy


class MembersKnown(Fact, frozen=True):
    """The provisioner has selected the nodes of each group.

    The journal keeps how many groups and nodes there are. ``membership``, groups in the order of the document, is kept
    as rows of groups and nodes, and is empty in a fact that was read from the journal. So is ``given``: what each node
    is given if it succeeds, the text of its aspects.
    """

    kind: ClassVar[str] = "members_known"

    groups: int
    nodes: int
    membership: tuple[tuple[DeploymentGroup, frozenset[NodeName]], ...] = ()
    given: Mapping[NodeName, str] = {}

    @classmethod
    def of(
        cls,
        strategy: Strategy,
        members: Mapping[GroupName, frozenset[NodeName]],
        given: Mapping[NodeName, str] = MappingProxyType({}),
    ) -> Self:
        """Return the fact about the groups of a strategy."""
        membership = tuple((group, members[group.name]) for group in strategy.groups)
        nodes = frozenset[NodeName]().union(*(held for _, held in membership))
        return cls(len(membership), len(nodes), membership, given)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"groups": self.groups, "nodes": self.nodes}


class GroupChanged(Fact, frozen=True):
    """A group has a new status."""

    kind: ClassVar[str] = "group_changed"

    group: GroupName
    status: GroupStatus
    reason: Reason | None = None
    detail: str = ""
    shortfalls: tuple[Shortfall, ...] = ()


class RolloutEnded(Fact, frozen=True):
    """No group can move any more. Names by status, in the order of the document and of the names."""

    kind: ClassVar[str] = "rollout_ended"

    verdict: Verdict
    groups: Mapping[GroupStatus, tuple[GroupName, ...]]
    nodes: Mapping[NodeStatus, tuple[NodeName, ...]]
    critical: tuple[GroupName, ...] = ()

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        groups: Mapping[GroupName, GroupStatus],
        nodes: Mapping[NodeName, NodeStatus],
        critical: tuple[GroupName, ...],
    ) -> Self:
        """Return the fact from the status of each group and node."""
        by_group, by_node = (
            defaultdict[GroupStatus, list[GroupName]](list),
            defaultdict[NodeStatus, list[NodeName]](list),
        )
        for name, status in groups.items():
            by_group[status].append(name)
        for node in sorted(nodes):
            by_node[nodes[node]].append(node)
        return cls(
            verdict,
            {status: tuple(names) for status, names in by_group.items()},
            {status: tuple(names) for status, names in by_node.items()},
            critical,
        )


FACTS: tuple[type[Fact], ...] = (MembersKnown, GroupChanged, RolloutEnded)
