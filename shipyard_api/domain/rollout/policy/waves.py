"""Waves: nodes that must end before the next ones begin, each wave with a threshold (product, section 13)."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum

from msgspec import Struct, field

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.budgets import Amount
from shipyard_api.domain.rollout.policy.gates import Gate
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import GroupName

REST = "rest"
"""The name of the last wave, of the nodes that no wave names."""


class Scope(Enum):
    """Whether each group has the waves, or all groups together; the values are the words of the configuration."""

    GROUP = "group"
    ACTION = "action"


class Wave(Struct, frozen=True):
    """``size``: how many nodes, None for all that are left. ``selectors``: which ones; empty for any.

    ``threshold``: the criteria that the wave must meet, over its own nodes. ``gates``: what must hold before the next
    wave begins.
    """

    name: str
    size: Amount | None = None
    selectors: tuple[Selector, ...] = ()
    threshold: SuccessCriteria = field(default_factory=lambda: SuccessCriteria(maximum_failed_nodes=0))
    gates: tuple[Gate, ...] = ()


class Waves(Struct, frozen=True):
    """``stop_after``: after how many bad waves in a row nothing more begins."""

    waves: tuple[Wave, ...]
    scope: Scope = Scope.GROUP
    stop_after: int = 1


class Course(Struct, frozen=True):
    """The nodes that go through waves together: those of one group, or of all (``group`` is None).

    ``waves``: each wave with its nodes, in order; none is empty.
    """

    group: GroupName | None
    waves: tuple[tuple[Wave, frozenset[NodeName]], ...]
    wave_of: Mapping[NodeName, int]

    @classmethod
    def of(
        cls,
        group: GroupName | None,
        waves: Sequence[Wave],
        nodes: Collection[NodeName],
        chosen: Mapping[str, frozenset[NodeName]],
    ) -> "Course":
        """Share the nodes out among waves, in order of name. ``chosen``: the nodes that selectors match, by wave.

        A percentage counts all nodes of the course, rounded up, so a wave has at least one node while any are left.
        """
        left = sorted(nodes)
        shared: list[tuple[Wave, frozenset[NodeName]]] = []
        for wave in (*waves, Wave(REST)):
            candidates = [node for node in left if not wave.selectors or node in chosen.get(wave.name, frozenset())]
            taken = frozenset(candidates[: _size(wave.size, len(nodes), len(candidates))])
            left = [node for node in left if node not in taken]
            if taken:
                shared.append((wave, taken))
        return cls(group, tuple(shared), {node: place for place, (_, taken) in enumerate(shared) for node in taken})

    @property
    def name(self) -> str:
        """What stores and answers name it by: the group, or nothing for all groups."""
        return self.group or ""


def _size(size: Amount | None, total: int, candidates: int) -> int:
    if size is None:
        return candidates
    if not size.percent:
        return size.number
    return -(-size.number * total // 100)


def courses(
    waves: Waves, members: Mapping[GroupName, frozenset[NodeName]], chosen: Mapping[str, frozenset[NodeName]]
) -> tuple[Course, ...]:
    """Return the courses of a rollout: one for each group, or one for all."""
    if waves.scope is Scope.GROUP:
        return tuple(Course.of(name, waves.waves, nodes, chosen) for name, nodes in members.items())
    return (Course.of(None, waves.waves, frozenset[NodeName]().union(*members.values()), chosen),)
