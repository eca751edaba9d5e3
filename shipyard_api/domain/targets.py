"""Target nodes of an action (contract: shipyard-actions, chapters 3 and 8.1), and the guard against too many."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from shipyard_api.domain.errors import InvalidTargets
from shipyard_api.domain.findings import Finding, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.criteria import Criterion, SuccessCriteria
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import ALL_AT_ONCE, DeploymentGroup, GroupName, Strategy, parse_strategy

TARGET_GROUP = GroupName("target-group")
_NAME_LENGTH = 253  # as in DNS
_TARGETS = 10_000


def parse_targets(written: object) -> tuple[NodeName, ...]:
    """Return the names in the parameter ``target_nodes``, without duplicates and in order.

    The parameter is a list, or a text with commas. Blanks around names and empty parts are dropped. Raises Invalid if
    no name is left, or if an entry is not a name.
    """
    parts: Iterable[object] = written.split(",") if isinstance(written, str) else _list(written)
    names: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            raise InvalidTargets()
        # Entries of a list may contain commas, too.
        names.extend(name for name in map(str.strip, part.split(",")) if name)
    if not names or len(names) > _TARGETS or any(len(name) > _NAME_LENGTH or not name.isprintable() for name in names):
        raise InvalidTargets()
    return tuple(NodeName(name) for name in dict.fromkeys(names))


def targeted(nodes: tuple[NodeName, ...], name: GroupName = TARGET_GROUP) -> Strategy:
    """Return the strategy of an action on these nodes: one critical group in which every node must succeed.

    The minimum also fails the group for a name that is not in the design.
    """
    return Strategy((_group(name, nodes),))


def in_batches(nodes: Sequence[NodeName], size: int) -> Sequence[tuple[NodeName, ...]]:
    """Return the nodes in batches of this size, in their order."""
    return [tuple(nodes[start : start + size]) for start in range(0, len(nodes), size)]


def in_batch(name: str, number: int) -> str:
    """Return the name of a step or group of a batch, counted from 0; scripts know the names of the first one."""
    return name if number == 0 else f"{name}.{number + 1}"


def targeted_in_batches(nodes: Sequence[NodeName], size: int) -> Strategy:
    """Return the strategy of an action on batches of nodes, a group each, which depends on the one before."""
    names = [GroupName(in_batch(TARGET_GROUP, number)) for number in range(len(in_batches(nodes, size)))]
    parents: list[tuple[GroupName, ...]] = [(), *((name,) for name in names)]
    return Strategy(tuple(map(_group, names, in_batches(nodes, size), parents)))


def strategy_of(
    targets: tuple[NodeName, ...],
    groups: Mapping[str, Any] | None,
    target_group: GroupName = TARGET_GROUP,
    batch: int = 0,
) -> Strategy:
    """Return the strategy of an action: on its targets, in batches if it has any; else on the groups as written."""
    if targets and batch:
        return targeted_in_batches(targets, batch)
    if targets:
        return targeted(targets, target_group)
    return ALL_AT_ONCE if groups is None else parse_strategy(groups)


def _group(name: GroupName, nodes: tuple[NodeName, ...], parents: tuple[GroupName, ...] = ()) -> DeploymentGroup:
    criteria = SuccessCriteria(percent_successful_nodes=100, minimum_successful_nodes=len(nodes))
    return DeploymentGroup(
        name,
        critical=True,
        depends_on=parents,
        selectors=(Selector(node_names=frozenset(nodes)),),
        success_criteria=criteria,
    )


def restricted(
    strategy: Strategy, members: Mapping[GroupName, Collection[NodeName]], nodes: Collection[NodeName]
) -> dict[str, Any]:
    """Return the data of a strategy for only these nodes, in their groups; ``members``: all nodes of each group.

    Groups without any of them are left out: their dependents depend on their parents. A group cannot be asked for more
    successful nodes than it has here.
    """
    chosen = {group.name: sorted(set(members[group.name]).intersection(nodes)) for group in strategy.groups}
    parents = {group.name: group.depends_on for group in strategy.groups}
    entries = []
    for group in strategy.groups:
        if not (names := chosen[group.name]):
            continue
        criteria = {key: value for key, value in asdict(group.success_criteria).items() if value is not None}
        if (minimum := criteria.get(Criterion.MINIMUM.value)) is not None:
            criteria[Criterion.MINIMUM.value] = min(minimum, len(names))
        entries.append(
            {
                "name": group.name,
                "critical": group.critical,
                "depends_on": _nearest(group.name, parents, chosen),
                "selectors": [{"node_names": names}],
                "success_criteria": criteria,
            }
        )
    return {"groups": entries}


def _nearest(
    name: GroupName, parents: Mapping[GroupName, Iterable[GroupName]], chosen: Mapping[GroupName, Collection[NodeName]]
) -> list[GroupName]:
    """Return the nearest groups with nodes that this one depends on."""
    nearest: list[GroupName] = []
    seen: set[GroupName] = set()
    todo = list(parents[name])
    while todo:
        parent = todo.pop(0)
        if parent in seen:
            continue
        seen.add(parent)
        if chosen[parent]:
            nearest.append(parent)
        else:
            todo.extend(parents[parent])
    return nearest


def _list(written: object) -> Iterable[object]:
    if isinstance(written, list | tuple):
        return written
    raise InvalidTargets()


class BlastRadius(Struct, frozen=True):
    """How many of the site's nodes an action touches, and the share of them that it may touch."""

    touched: int
    nodes: int
    most: float

    @property
    def too_large(self) -> bool:
        """Whether the action touches more than it may."""
        return self.touched > self.most * self.nodes

    def finding(self, action: str) -> Finding:
        """Return the warning about an action that touches too much."""
        return warning("ShareOfSiteTouched", f"{action} touches {self}.")

    def __str__(self) -> str:
        share = 100 * self.touched / self.nodes
        return (
            f"{self.touched} of the site's {self.nodes} nodes ({share:.0f} %), more than the {100 * self.most:g} % "
            "that [actions] max_share_touched allows"
        )
