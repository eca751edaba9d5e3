"""Members of an etcd cluster, and which of them run on a node (contract: promenade, 4.3)."""

from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from ipaddress import ip_address
from typing import NewType
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName

MemberId = NewType("MemberId", str)
"""etcd's 64-bit number of a member, as text."""


class MemberState(Enum):
    """How a member answered when it was asked at its own address.

    ``healthy``: in time, with a leader, without errors and of the right cluster. ``unhealthy``: it answered anything
    else. ``slow``: it took the connection and did not answer in time. ``dead``: no connection, or it never started. A
    member that is slow or dead is never counted on; only one that is unhealthy or dead counts as sick.
    """

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    SLOW = "slow"
    DEAD = "dead"


SICK = frozenset({MemberState.UNHEALTHY, MemberState.DEAD})
_ANSWERED = frozenset({MemberState.HEALTHY, MemberState.UNHEALTHY})


class EtcdMember(Struct, frozen=True):
    """One entry of the member list with its state. A member that never started has no name and no client URLs."""

    id: MemberId
    name: str = ""
    state: MemberState = MemberState.DEAD
    learner: bool = False
    leader: bool = False
    peer_urls: tuple[str, ...] = ()
    client_urls: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name; of one that never started, its address or its id."""
        return self.name or next(iter(self.peer_urls), self.id)

    @property
    def healthy(self) -> bool:
        """Whether the cluster can count on the member."""
        return self.state is MemberState.HEALTHY

    @property
    def answered(self) -> bool:
        """Whether any answer came from the member."""
        return self.state in _ANSWERED


class Minimum(Struct, frozen=True):
    """What a site wants to keep of a cluster (document promenade/EtcdClusters/v1); 0 if it gives none."""

    members: int = 0
    healthy: int = 0


NO_MINIMUM = Minimum()


class EtcdCluster(Struct, frozen=True):
    """One look at a cluster. No members: no endpoint gave a list. ``no_space``: an alarm stops all writes."""

    name: str
    members: tuple[EtcdMember, ...] = ()
    minimum: Minimum = NO_MINIMUM
    no_space: bool = False

    @property
    def voters(self) -> tuple[EtcdMember, ...]:
        """The members that count for the quorum: all but learners."""
        return tuple(member for member in self.members if not member.learner)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The client URLs of all members; the next look finds the cluster there, whatever happens to its endpoints."""
        return tuple(url for member in self.members for url in member.client_urls)

    def without(self, leaving: Collection[MemberId]) -> "EtcdCluster":
        """Return the cluster after these members have left it."""
        return replace(self, members=tuple(member for member in self.members if member.id not in leaving))


def members_on(cluster: EtcdCluster, node: NodeName, addresses: Collection[str]) -> frozenset[MemberId]:
    """Return the members that run on a node: members with the name of the node, or with a URL at one of its addresses.

    A host may run several: the first host of a site also runs ``auxiliary-0`` and ``auxiliary-1``. ``addresses``: the
    addresses of the Kubernetes node, host names included.
    """
    hosts = {_normal(address) for address in (*addresses, node)}
    return frozenset(
        member.id for member in cluster.members if member.name == node or hosts.intersection(_hosts(member))
    )


def ask_order(cluster: EtcdCluster, leaving: Collection[MemberId]) -> tuple[EtcdMember, ...]:
    """Return the members to send requests to, best first: healthy voters, then learners, then the rest.

    Never one of those that leave: their host may go at any moment.
    """
    rank = list(MemberState)
    staying = (member for member in cluster.members if member.id not in leaving and member.client_urls)
    return tuple(sorted(staying, key=lambda member: (rank.index(member.state), member.learner, member.id)))


def _hosts(member: EtcdMember) -> Iterator[str]:
    urls: Iterable[str] = (*member.peer_urls, *member.client_urls)
    for url in urls:
        try:
            host = urlsplit(url).hostname
        except ValueError:
            continue
        if host:
            yield _normal(host)


def _normal(host: str) -> str:
    """Return one spelling for a host name or an address; IPv6 has many."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host.lower().rstrip(".")
