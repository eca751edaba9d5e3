"""The members of a simulated cluster: their states, the leader, and what needs a quorum."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.etcd.errors import failed_precondition, not_found, unavailable

CLUSTER_ID = 13755709248944856395
FOREIGN_ID = 4711
CONNECTED_FOR = 5.0  # nominal seconds: how long a member counts as not connected after its start
REQUEST_LIMIT = 7.0  # nominal seconds until a request that needs a quorum fails
LATE = 2.0  # nominal seconds that a slow member takes longer

_FIRST_ID = 4027709785082140019
_STEP = 1618033988749894848  # so that two numbers differ in every digit


class MemberState(Enum):
    """The state of a member's program; the values are the words of the control route.

    ``hanging``: it takes connections and answers nothing. ``foreign``: a member of another cluster answers at its
    address. ``removed``: the cluster removed it, and it ended by itself.
    """

    RUNNING = "running"
    SLOW = "slow"
    FOREIGN = "foreign"
    HANGING = "hanging"
    KILLED = "killed"
    NEVER_STARTED = "never-started"
    REMOVED = "removed"


_AT_WORK = frozenset({MemberState.RUNNING, MemberState.SLOW})


@dataclass(eq=False)
class Member:
    """One member. ``urls``: its client and its peer URL. ``since``: when it was last started."""

    id: int
    name: str
    urls: tuple[str, str]
    learner: bool = False
    state: MemberState = MemberState.RUNNING
    since: float = 0.0
    freed: threading.Event = field(default_factory=threading.Event)

    def entry(self) -> dict[str, Any]:
        """Return the entry of the member list, as etcd writes it: without empty and false fields."""
        started = self.state is not MemberState.NEVER_STARTED
        entry: dict[str, Any] = {"ID": str(self.id), "name": self.name if started else "", "peerURLs": [self.urls[1]]}
        entry |= {"clientURLs": [self.urls[0]] if started else [], "isLearner": self.learner}
        return {key: value for key, value in entry.items() if value}


class SimulatedEtcd:
    """The cluster. Thread-safe; everything that waits uses the clock."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.members: list[Member] = []
        self.term, self.index, self.no_space = 2, 8, False
        self._leader: Member | None = None
        self._numbers = 0
        self._changed = threading.Condition()

    def add(self, name: str, urls: tuple[str, str], *, learner: bool, started: bool, old: bool = False) -> Member:
        """Add a member. ``old``: it has been running for long."""
        with self._changed:
            self._numbers += 1
            number = (_FIRST_ID + self._numbers * _STEP) % 2**63
            state = MemberState.RUNNING if started else MemberState.NEVER_STARTED
            since = self.clock.now() - (self.clock.scaled(CONNECTED_FOR) if old else 0.0)
            member = Member(number, name, urls, learner, state, since)
            self.members.append(member)
            self._settle()
            return member

    def change(self, member: Member, state: MemberState) -> None:
        """Give a member another state; starting it again counts from now."""
        with self._changed:
            if state in _AT_WORK and member.state not in _AT_WORK:
                member.since = self.clock.now()
            member.state = state
            if state is not MemberState.HANGING:
                member.freed.set()
                member.freed = threading.Event()
            self._settle()

    @property
    def leader(self) -> Member | None:
        """The leader, None without a quorum."""
        with self._changed:
            return self._leader

    def remove(self, number: int) -> None:
        """Remove a member; without a quorum this waits for one, and may take for ever."""
        with self._changed:
            while True:
                member = next((one for one in self.members if one.id == number), None)
                if member is None:
                    raise not_found("etcdserver: member not found")
                if self._leader is not None:
                    break
                self._changed.wait()
            self._check_removal(member)
            self.members.remove(member)
            self._settle()
        self.change(member, MemberState.REMOVED)

    def transfer(self, asked: Member, number: int) -> None:
        """Move the leadership from the member that was asked."""
        with self._changed:
            if self._leader is None:
                raise unavailable("etcdserver: no leader")
            if self._leader is not asked:
                raise failed_precondition("etcdserver: not leader")
            target = next((one for one in self._at_work() if one.id == number), None)
            if target is None:
                raise failed_precondition("etcdserver: bad leader transferee")
            self._elect(target)

    def propose(self) -> None:
        """Write something to the log; raises EtcdError without a quorum, after a while."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._leader, self.clock.scaled(REQUEST_LIMIT)):
                raise unavailable("etcdserver: request timed out")
            self.index += 1

    def look(self, ask: Callable[[], Any]) -> Any:
        """Call ``ask`` under the lock and return its result."""
        with self._changed:
            return ask()

    def _voters(self) -> list[Member]:
        return [one for one in self.members if not one.learner]

    def _at_work(self) -> list[Member]:
        return [one for one in self._voters() if one.state in _AT_WORK]

    def _check_removal(self, member: Member) -> None:
        """Refuse as etcd's strict check does: by voters that started, then by voters connected for long enough."""
        if member.learner:
            return
        staying = [one for one in self._voters() if one is not member]
        started = [one for one in staying if one.state is not MemberState.NEVER_STARTED]
        if len(started) < len(staying) // 2 + 1:
            raise failed_precondition("etcdserver: re-configuration failed due to not enough started members")
        if member.state not in _AT_WORK and member is not self._leader:
            return
        soon = self.clock.now() - self.clock.scaled(CONNECTED_FOR)
        connected = [one for one in self._at_work() if one is self._leader or one.since <= soon]
        if len(connected) - 1 < len(staying) // 2 + 1:
            raise unavailable("etcdserver: unhealthy cluster")

    def _settle(self) -> None:
        """Elect a leader if one is needed and possible."""
        at_work = self._at_work()
        if len(at_work) < len(self._voters()) // 2 + 1:
            self._leader = None
        elif self._leader not in at_work:
            self._elect(at_work[-1])
        self.index += 1
        self._changed.notify_all()

    def _elect(self, member: Member) -> None:
        self.term += 1
        self._leader = member
