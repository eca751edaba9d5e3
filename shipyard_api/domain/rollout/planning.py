"""The order in which deployment groups would run, found by simulating the rollout (seed 000, Process)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.modes import Mode
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A group as it would run; nodes in order of name.

    ``order`` counts from 1; None for a group that never begins. ``sends``: the members that it submits to the
    provisioner, because no earlier group does and they are not kept. ``can_succeed``: whether the group succeeds if
    every node does; false for a group that depends on one that cannot.
    """

    group: DeploymentGroup
    order: int | None
    members: tuple[NodeName, ...]
    sends: tuple[NodeName, ...]
    can_succeed: bool


def plan_groups(
    strategy: Strategy,
    members: Mapping[GroupName, Collection[NodeName]],
    mode: Mode,
    kept: Collection[NodeName] = (),
) -> tuple[PlannedGroup, ...]:
    """Return the groups in the order in which they begin if every node succeeds and every move takes equally long.

    Groups that never begin come last, in the order of the document. ``kept`` are nodes that are already deployed.
    """
    rollout = Rollout(strategy, members, mode)
    done = dict.fromkeys((node for node in kept if node in rollout.nodes), NodeStatus.SUCCESS)
    if done:
        rollout.restore(nodes=done, groups={}, reasons={})
    begun: dict[GroupName, None] = {}
    sent: dict[GroupName, set[NodeName]] = {name: set() for name in rollout.groups}
    seen: set[NodeName] = set()
    while not rollout.done:
        move = rollout.next_move()
        if move is None:
            first = rollout.running[0]
            rollout.finish(first, Outcome(frozenset(first.nodes)))
            continue
        begun.setdefault(move.group)
        _note(move, sent, seen)
        rollout.start(move)
    groups = {group.name: group for group in strategy.groups}
    order = {name: position for position, name in enumerate(begun, start=1)}
    return tuple(
        PlannedGroup(
            groups[name],
            order.get(name),
            tuple(sorted(members[name])),
            tuple(sorted(sent[name])),
            rollout.groups[name] is GroupStatus.SUCCESS,
        )
        for name in [*begun, *(name for name in groups if name not in order)]
    )


def _note(move: Move, sent: Mapping[GroupName, set[NodeName]], seen: set[NodeName]) -> None:
    """Record which group sent a node first: another group may deploy a node that this one prepared."""
    new = [node for node in move.nodes if node not in seen]
    sent[move.group].update(new)
    seen.update(new)
