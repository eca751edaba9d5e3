"""Whether an etcd cluster works, and whether a teardown may go on after a removal (contract: promenade, 4.4)."""

from collections.abc import Collection, Iterable
from enum import Enum

from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId
from shipyard_api.domain.teardown.quorum import Obstacle, lowered, majority, minimum_missed


class Health(Enum):
    """Health of a cluster; the values are the messages on the wire."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNREACHABLE = "Unable to access Etcd"


class Readiness(Enum):
    """What to do after the members of a node have left: go on, poll again, or fail."""

    READY = "ready"
    NOT_YET = "not_yet"
    MEMBER_IS_BACK = "member_is_back"


def health(cluster: EtcdCluster, ignored: Collection[MemberId] = ()) -> Health:
    """Return the health of a cluster without the members of a node that is being torn down."""
    members = [member for member in cluster.members if member.id not in ignored]
    if not any(member.answered for member in members):
        return Health.UNREACHABLE
    voters = [member for member in members if not member.learner]
    has_quorum = sum(member.healthy for member in voters) >= majority(len(voters))
    if has_quorum and not cluster.no_space and not any(minimum_missed(cluster.minimum, voters)):
        return Health.HEALTHY
    return Health.UNHEALTHY


def health_details(clusters: Iterable[EtcdCluster]) -> JsonObject:
    """Return the details of an answer about the clusters (seed 004, Check etcd; contract: promenade, 3.3).

    A cluster that did not answer counts as an error; one that is unhealthy does not. The members, each with its state,
    are ours.
    """
    messages = [
        {
            "message": state.value,
            "error": state is Health.UNREACHABLE,
            "kind": "HealthMessage",
            "name": cluster.name,
            "members": [_member(member) for member in sorted(cluster.members, key=lambda member: member.label)],
        }
        for cluster in clusters
        for state in [health(cluster)]
    ]
    return {"errorCount": sum(message["error"] is True for message in messages), "messageList": messages}


def _member(member: EtcdMember) -> JsonObject:
    return {"name": member.label, "state": member.state.value, "leader": member.leader, "learner": member.learner}


def readiness(cluster: EtcdCluster, leaving: Collection[MemberId], waived: Iterable[Obstacle] = ()) -> Readiness:
    """Return whether a teardown may go on after the removal of a node's members.

    ``leaving``: the members that the cluster has on the node now. A member that is listed again was added by another
    party: the anchor of Promenade's charts does. ``waived``: what the removal was allowed to miss of the site's
    minimum. Not for a cluster that ``force`` has given up: the cluster keeps the member.
    """
    if any(member.id in leaving for member in cluster.members):
        return Readiness.MEMBER_IS_BACK
    accepted = replace(cluster, minimum=lowered(cluster.minimum, waived))
    return Readiness.READY if health(accepted) is Health.HEALTHY else Readiness.NOT_YET
