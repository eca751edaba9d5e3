"""Whether a node's members may leave their etcd cluster, and which goes first (contract: promenade, 4.3).

Only voters count, and only healthy ones are counted on. A removal needs three things: a quorum now, because without
one etcd never commits it (and may commit it much later); a quorum of the members that stay; and the site's minimum. The
minimum does not hold for members that are sick themselves: without them the cluster has lost nothing.
"""

from collections.abc import Collection, Iterable, Iterator
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.teardown.etcd_members import SICK, EtcdCluster, EtcdMember, MemberId, MemberState, Minimum


class ObstacleKind(Enum):
    """The reason against a removal; the values are stored."""

    UNREACHABLE = "unreachable"
    NO_QUORUM = "no_quorum"
    LAST_VOTER = "last_voter"
    LOSES_QUORUM = "loses_quorum"
    MINIMUM_MEMBERS = "minimum_members"
    MINIMUM_HEALTHY = "minimum_healthy"


_SENTENCES = {
    ObstacleKind.UNREACHABLE: "no endpoint returned a member list",
    ObstacleKind.NO_QUORUM: "the cluster has no quorum: {actual} healthy voters, {needed} needed",
    ObstacleKind.LAST_VOTER: "no other voter would remain",
    ObstacleKind.LOSES_QUORUM: "the rest would have no quorum: {actual} healthy voters, {needed} needed",
    ObstacleKind.MINIMUM_MEMBERS: "the site wants at least {needed} members, {actual} would remain",
    ObstacleKind.MINIMUM_HEALTHY: "the site wants at least {needed} healthy members, {actual} would remain",
}


class Obstacle(ByFields, Struct, frozen=True):
    """One condition that a removal misses: the voters that it needs, and the actual number."""

    kind: ObstacleKind
    needed: int
    actual: int

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(needed=self.needed, actual=self.actual)


class Remove(ByFields, Struct, frozen=True):
    """Remove this member next, then look at the cluster again.

    ``transfer_to``: the member to move the leadership to first, None if the member does not lead; a failed transfer is
    no obstacle. ``waived``: parts of the site's minimum that a sick member may go below; they are warnings.
    """

    member: MemberId
    transfer_to: MemberId | None = None
    waived: tuple[Obstacle, ...] = ()


class Gone(Struct, frozen=True):
    """The cluster has no member on the node (any more)."""


class Refused(Struct, frozen=True):
    """No member may leave now. Look again until the deadline: another member may be starting.

    ``can_be_forced``: no voter would remain but dead ones, so nothing is kept by waiting. An action with ``force``
    then leaves the member in place, submits no removal, and goes on: the operator has given the cluster up.
    """

    obstacles: tuple[Obstacle, ...]
    can_be_forced: bool = False

    def __str__(self) -> str:
        return "; ".join(map(str, self.obstacles))


Removal = Remove | Gone | Refused


def majority(voters: int) -> int:
    """Return how many of these voters make a quorum."""
    return voters // 2 + 1


def decide_removal(cluster: EtcdCluster, leaving: Collection[MemberId]) -> Removal:
    """Return what to do about the members in ``leaving``, all of those on one node.

    Nothing is removed if not all of them can go: half a removal would weaken the cluster, and the node would stay.
    """
    if not cluster.members:
        return Refused((Obstacle(ObstacleKind.UNREACHABLE, 1, 0),))
    going = sorted((member for member in cluster.members if member.id in leaving), key=_sick_first)
    if not going:
        return Gone()
    first = going[0]
    minimum = tuple(_below_minimum(cluster, going))
    # A slow member may recover at any moment, so it is no reason to go below the minimum.
    sick = all(member.state in SICK for member in going if not member.learner)
    missed = dict.fromkeys((*_without_quorum(cluster, going), *_without_quorum(cluster, [first])))
    if missed or (minimum and not sick):
        return Refused((*missed, *minimum), can_be_forced=_is_lost_without(cluster, going))
    return Remove(first.id, _successor(cluster, first, leaving), minimum)


def survivable_failures(cluster: EtcdCluster, leaving: Collection[MemberId] = ()) -> int:
    """Return how many more members may fail once these have left; below 0 if the rest has no quorum."""
    staying = [member for member in cluster.voters if member.id not in leaving]
    return _healthy(staying) - majority(len(staying))


def lowered(minimum: Minimum, waived: Iterable[Obstacle]) -> Minimum:
    """Return the minimum to expect of a cluster after a removal that went below it."""
    actual = {obstacle.kind: obstacle.actual for obstacle in waived}
    return Minimum(
        min(minimum.members, actual.get(ObstacleKind.MINIMUM_MEMBERS, minimum.members)),
        min(minimum.healthy, actual.get(ObstacleKind.MINIMUM_HEALTHY, minimum.healthy)),
    )


def minimum_missed(minimum: Minimum, voters: Collection[EtcdMember]) -> Iterator[Obstacle]:
    """Return the parts of a site's minimum that these voters miss."""
    healthy = _healthy(voters)
    if len(voters) < minimum.members:
        yield Obstacle(ObstacleKind.MINIMUM_MEMBERS, minimum.members, len(voters))
    if healthy < minimum.healthy:
        yield Obstacle(ObstacleKind.MINIMUM_HEALTHY, minimum.healthy, healthy)


def _without_quorum(cluster: EtcdCluster, going: Collection[EtcdMember]) -> Iterator[Obstacle]:
    voters = cluster.voters
    if _healthy(voters) < majority(len(voters)):
        yield Obstacle(ObstacleKind.NO_QUORUM, majority(len(voters)), _healthy(voters))
    if all(member.learner for member in going):
        return
    staying = _staying(cluster, going)
    if not staying:
        yield Obstacle(ObstacleKind.LAST_VOTER, 1, 0)
    elif _healthy(staying) < majority(len(staying)):
        yield Obstacle(ObstacleKind.LOSES_QUORUM, majority(len(staying)), _healthy(staying))


def _below_minimum(cluster: EtcdCluster, going: Collection[EtcdMember]) -> Iterator[Obstacle]:
    if not all(member.learner for member in going):
        yield from minimum_missed(cluster.minimum, _staying(cluster, going))


def _is_lost_without(cluster: EtcdCluster, going: Collection[EtcdMember]) -> bool:
    is_voter = any(not member.learner for member in going)
    return is_voter and all(member.state is MemberState.DEAD for member in _staying(cluster, going))


def _staying(cluster: EtcdCluster, going: Collection[EtcdMember]) -> list[EtcdMember]:
    return [member for member in cluster.voters if member not in going]


def _successor(cluster: EtcdCluster, first: EtcdMember, leaving: Collection[MemberId]) -> MemberId | None:
    if not (first.leader and first.healthy):
        return None
    return min((member.id for member in cluster.voters if member.healthy and member.id not in leaving), default=None)


def _healthy(members: Iterable[EtcdMember]) -> int:
    return sum(member.healthy for member in members)


def _sick_first(member: EtcdMember) -> tuple[bool, bool, bool, MemberId]:
    """Learners first, then members that nothing is lost with; the leader last."""
    return not member.learner, member.healthy, member.leader, member.id
