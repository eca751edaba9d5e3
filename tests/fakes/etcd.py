"""An etcd cluster in memory: members that a test lets die, and a record of every removal."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, MemberState
from shipyard_api.ports.errors import PeerError, Unavailable
from shipyard_api.ports.etcd import EtcdAccess, MemberRemoval, NotEtcd


@dataclass
class FakeEtcd:
    """``members``: by cluster. ``log``: every accepted removal. ``least``: fewest healthy voters beyond a quorum."""

    members: dict[str, list[EtcdMember]] = field(default_factory=dict)
    log: list[tuple[str, MemberId]] = field(default_factory=list)
    transfers: list[tuple[str, MemberId]] = field(default_factory=list)
    least: int = 99

    def __post_init__(self) -> None:
        self._failing: dict[str, list[tuple[PeerError, bool]]] = {}

    # What tests do.

    def form(self, cluster: str, *nodes: str, dead: Collection[str] = ()) -> None:
        """Let a cluster have one member on each of these nodes; the first that lives leads."""
        alive = [node for node in nodes if node not in dead]
        self.members[cluster] = [
            EtcdMember(
                MemberId(f"{cluster}-{node}"),
                node,
                MemberState.DEAD if node in dead else MemberState.HEALTHY,
                leader=node == alive[0] if alive else False,
                peer_urls=(f"https://10.0.0.{node[1:]}:2380",),
                client_urls=(f"https://10.0.0.{node[1:]}:2379",),
            )
            for node in nodes
        ]

    def leave(self, node: NodeName) -> None:
        """Let the members of a node leave by themselves, as the anchor of Promenade's charts does."""
        for cluster, members in self.members.items():
            self.members[cluster] = [one for one in members if one.name != node]

    def die(self, node: NodeName) -> None:
        """Let the members of a node be dead."""
        for cluster, members in self.members.items():
            self.members[cluster] = [
                replace(one, state=MemberState.DEAD, leader=False) if one.name == node else one for one in members
            ]

    def break_next(self, method: str, *, after: bool = False) -> None:
        """Let the next call of the method raise Unavailable, before its effect or after."""
        self._failing.setdefault(method, []).append((Unavailable("Fake etcd", method, "broken on purpose"), after))

    def refuse_next(self, method: str, detail: str) -> None:
        """Let the next call of the method find something that is no etcd."""
        self._failing.setdefault(method, []).append((NotEtcd("Fake etcd", method, detail), False))

    # The port.

    def look(self, access: EtcdAccess, *, node: NodeName | None = None, addresses: Collection[str] = ()) -> EtcdCluster:
        error = self._call("look")
        members = self.members.get(access.name, [])
        cluster = EtcdCluster(access.name, tuple(members), access.minimum)
        if not any(one.answered for one in members):
            cluster = EtcdCluster(access.name, (), access.minimum)
        if error is not None:
            raise error
        return cluster

    def transfer_leadership(self, access: EtcdAccess, cluster: EtcdCluster, to: MemberId) -> None:
        error = self._call("transfer_leadership")
        self.transfers.append((access.name, to))
        self.members[access.name] = [replace(one, leader=one.id == to) for one in self.members[access.name]]
        if error is not None:
            raise error

    def remove(
        self, access: EtcdAccess, cluster: EtcdCluster, member: MemberId, leaving: Collection[MemberId]
    ) -> MemberRemoval:
        error = self._call("remove")
        members = self.members[access.name]
        found = any(one.id == member for one in members)
        left = [one for one in members if one.id != member]
        if found:
            self.members[access.name] = left
            self.log.append((access.name, member))
            healthy = sum(one.healthy for one in left)
            self.least = min(self.least, healthy - (len(left) // 2 + 1))
        if error is not None:
            raise error
        return MemberRemoval.REMOVED if found else MemberRemoval.GONE

    def _call(self, method: str) -> PeerError | None:
        failing = self._failing.get(method)
        if not failing:
            return None
        error, after = failing.pop(0)
        if not after:
            raise error
        return error
