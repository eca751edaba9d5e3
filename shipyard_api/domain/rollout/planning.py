"""The order in which deployment groups would run, found by a rehearsal of the rollout (seed 000, Process)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from shipyard_api.domain.groups import GroupStatus, Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import Assumptions, PhaseAssumption
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Mode, Move
from shipyard_api.domain.rollout.policy.pace import NO_TIME
from shipyard_api.domain.rollout.policy.pacing import ALL_AT_ONCE, Pace
from shipyard_api.domain.rollout.rehearsal import Rehearsal, rehearse
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy

EQUALLY_LONG: Assumptions = dict.fromkeys(Phase, PhaseAssumption(0.0, [1.0]))
"""Every phase of every group takes equally long."""


class _Middle:
    """Dice that always show the middle, and so the median of a sample."""

    def getrandbits(self, k: int, /) -> int:
        """Return the highest of ``k`` bits."""
        return 1 << k >> 1

    def random(self) -> float:
        """Return the middle of 0 and 1."""
        return 0.5

    def betavariate(self, alpha: float, beta: float) -> float:
        """Return the mean of the distribution."""
        return alpha / (alpha + beta)


class PlannedWave(Struct, frozen=True):
    """A wave of a group; nodes in order of name. ``starts``: when its first node begins, None if none does."""

    name: str
    nodes: tuple[NodeName, ...]
    starts: datetime | None


class PlannedGroup(Struct, frozen=True):
    """A group as it would run; nodes in order of name.

    ``order`` counts from 1; None for a group that never begins. ``sends``: the members that it submits to the
    provisioner, because no earlier group does and they are not kept. ``can_succeed``: whether the group succeeds if
    every node does; false for a group that depends on one that cannot. ``waves``: empty without a policy.
    """

    group: DeploymentGroup
    order: int | None
    members: tuple[NodeName, ...]
    sends: tuple[NodeName, ...]
    can_succeed: bool
    waves: tuple[PlannedWave, ...] = ()


def plan_groups(
    strategy: Strategy,
    members: Mapping[GroupName, Collection[NodeName]],
    mode: Mode,
    kept: Collection[NodeName] = (),
    assumptions: Assumptions = EQUALLY_LONG,
    pace: Pace = ALL_AT_ONCE,
    at: datetime = NO_TIME,
) -> tuple[PlannedGroup, ...]:
    """Return the groups in the order in which they begin if every node succeeds and each phase takes its usual time.

    Groups that never begin come last, in the order of the document. ``kept`` are nodes that are already deployed.
    ``assumptions`` count only where several groups may run at once: otherwise no duration changes the order.
    ``pace``: the policy; what it stops even if every node succeeds is sent by no group. ``at``: when the run begins.
    """
    membership = Membership(strategy, members)
    done = {node: NodeStatus.SUCCESS for node in sorted(kept) if node in membership.nodes}
    progress = Progress(nodes=done, uncounted=pace.uncounted, at=at)
    every = dict.fromkeys(Phase, membership.nodes.keys())
    run = rehearse(membership, mode, progress, every, assumptions, _Middle(), pace)
    sent = _first_senders(run.moves)
    waves = _waves(run, pace, at)
    order = {name: position for position, name in enumerate(run.begins, start=1)}
    return tuple(
        PlannedGroup(
            membership.groups[name],
            order.get(name),
            tuple(sorted(members[name])),
            tuple(sorted(sent[name])),
            run.rollout.groups[name] is GroupStatus.SUCCESS,
            waves.get(name, ()),
        )
        for name in [*order, *(name for name in membership.groups if name not in order)]
    )


def _waves(run: Rehearsal, pace: Pace, at: datetime) -> Mapping[GroupName, tuple[PlannedWave, ...]]:
    """Return the waves of each group, as the run began them."""
    begun: dict[NodeName, float] = {}
    for move, seconds in zip(run.moves, run.times, strict=True):
        for node in move.nodes:
            begun.setdefault(node, seconds)

    def starts(nodes: Collection[NodeName]) -> datetime | None:
        first = min((begun[node] for node in nodes if node in begun), default=None)
        return None if first is None else at + timedelta(seconds=first)

    return {
        group: tuple(PlannedWave(name, tuple(sorted(nodes)), starts(nodes)) for name, nodes in pace.waves_of(group))
        for group in pace.members
    }


def _first_senders(moves: Iterable[Move]) -> Mapping[GroupName, list[NodeName]]:
    """Return the nodes that each group sends first: another group may deploy a node that this group prepared."""
    sent: defaultdict[GroupName, list[NodeName]] = defaultdict(list)
    seen: set[NodeName] = set()
    for move in moves:
        new = [node for node in move.nodes if node not in seen]
        sent[move.group].extend(new)
        seen.update(new)
    return sent
