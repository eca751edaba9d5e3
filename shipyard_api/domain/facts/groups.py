"""Facts about the deployment groups of a rollout (seed 000)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import GroupStatus, Reason, Verdict
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.criteria import Criterion, Shortfall
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy


@dataclass(frozen=True, slots=True)
class MembersKnown:
    """The provisioner has selected the nodes of each group.

    The journal keeps how many groups and nodes there are. ``membership``, groups in the order of the document, is kept
    as rows of groups and nodes, and is empty in a fact that was read from the journal.
    """

    kind: ClassVar[str] = "members_known"
    version: ClassVar[int] = 1

    groups: int
    nodes: int
    membership: tuple[tuple[DeploymentGroup, frozenset[NodeName]], ...] = ()

    @classmethod
    def of(cls, strategy: Strategy, members: Mapping[GroupName, frozenset[NodeName]]) -> Self:
        """Return the fact about the groups of a strategy."""
        membership = tuple((group, members[group.name]) for group in strategy.groups)
        return cls(len(membership), len(frozenset().union(*(nodes for _, nodes in membership))), membership)

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"groups": self.groups, "nodes": self.nodes}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.number(stored, "groups"), reading.number(stored, "nodes"))


@dataclass(frozen=True, slots=True)
class GroupChanged:
    """A group has a new status."""

    kind: ClassVar[str] = "group_changed"
    version: ClassVar[int] = 1

    group: GroupName
    status: GroupStatus
    reason: Reason | None = None
    detail: str = ""
    shortfalls: tuple[Shortfall, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "group": self.group,
            "status": self.status.value,
            "reason": self.reason.value if self.reason else None,
            "detail": self.detail,
            "shortfalls": [
                {"criterion": one.criterion.value, "needed": one.needed, "actual": one.actual}
                for one in self.shortfalls
            ],
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact; the first lines of the kind had no shortfalls."""
        return cls(
            GroupName(reading.text(stored, "group")),
            reading.choice(GroupStatus, stored, "status"),
            None if stored.get("reason") is None else reading.choice(Reason, stored, "reason"),
            reading.text(stored, "detail", ""),
            tuple(
                Shortfall(
                    reading.choice(Criterion, one, "criterion"),
                    reading.number(one, "needed"),
                    reading.number(one, "actual"),
                )
                for one in reading.objects(stored, "shortfalls")
            ),
        )


@dataclass(frozen=True, slots=True)
class RolloutEnded:
    """No group can move any more. Names by status, in the order of the document and of the names."""

    kind: ClassVar[str] = "rollout_ended"
    version: ClassVar[int] = 1

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

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "verdict": self.verdict.value,
            "groups": {status.value: list(names) for status, names in self.groups.items()},
            "nodes": {status.value: list(names) for status, names in self.nodes.items()},
            "critical": list(self.critical),
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact; the first lines of the kind lack the critical flag."""
        groups, nodes = reading.mapping(stored, "groups"), reading.mapping(stored, "nodes")
        return cls(
            reading.choice(Verdict, stored, "verdict"),
            {reading.word(GroupStatus, status, "groups"): _groups(groups, status) for status in groups},
            {reading.word(NodeStatus, status, "nodes"): reading.nodes(nodes, status) for status in nodes},
            _groups(stored, "critical"),
        )


def _groups(stored: JsonObject, key: str) -> tuple[GroupName, ...]:
    return tuple(map(GroupName, reading.texts(stored, key)))


FACTS: tuple[type[Fact], ...] = (MembersKnown, GroupChanged, RolloutEnded)
