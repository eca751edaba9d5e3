"""The etcd clusters of a site (contract: promenade, 4.3 to 4.6): look at members, move the leadership, remove one.

A call takes at most two seconds more than the cluster's timeout, and may be repeated. Nothing is decided here: the
rules of quorum are in ``domain.teardown``.
"""

from collections.abc import Collection
from enum import Enum
from typing import Protocol

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, MemberId
from shipyard_api.ports.errors import Refused

__all__ = ["Etcd", "EtcdAccess", "MemberRemoval", "NotEtcd"]


class NotEtcd(Refused):
    """An endpoint answered, but not as etcd does, or its members belong to different clusters."""


class MemberRemoval(Enum):
    """The outcome of the removal of a member: removed now, or it was no member any more."""

    REMOVED = "removed"
    GONE = "gone"


class Etcd(Protocol):
    """All etcd clusters of a site."""

    def look(self, access: EtcdAccess, *, node: NodeName | None = None, addresses: Collection[str] = ()) -> EtcdCluster:
        """Return the cluster, each member asked at its own address, all at once.

        The member list is asked from the endpoints, then from members whose addresses these listed, in
        ``etcd_members.ask_order``; members on ``node`` (see ``members_on``) are asked last, since their host may go at
        any moment. No list from anybody: a cluster without members. Nothing is kept for the next look: pass the
        addresses of this one on (``EtcdAccess.with_addresses``), as the endpoints may all be on the node that goes.
        Raises NotEtcd, and Refused for certificates that cannot be used.
        """

    def transfer_leadership(self, access: EtcdAccess, cluster: EtcdCluster, to: MemberId) -> None:
        """Request that the leader hands over; asked at the leader. Raises ports.errors; a failure is no obstacle."""

    def remove(
        self, access: EtcdAccess, cluster: EtcdCluster, member: MemberId, leaving: Collection[MemberId]
    ) -> MemberRemoval:
        """Remove a member, asked at one that stays. ``leaving``: all members on the node that goes.

        Raises Busy where etcd refuses for the moment ("unhealthy cluster"), Unavailable if the outcome is unknown: then
        look again before repeating it.
        """
