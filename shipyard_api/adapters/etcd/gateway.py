"""Fills ``ports.etcd.Etcd`` over the JSON gateway of each member (contract: promenade, 4.3 and 4.4)."""

import ssl
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.adapters.etcd import translate
from shipyard_api.adapters.etcd.client import SYSTEM, EtcdClient, tls_context
from shipyard_api.adapters.etcd.translate import MemberList, MemberStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.etcd_members import (
    EtcdCluster,
    EtcdMember,
    MemberId,
    MemberState,
    ask_order,
    members_on,
)
from shipyard_api.http.failures import silent
from shipyard_api.http.restarts import PeerRestarts
from shipyard_api.observing.request_context import propagated
from shipyard_api.ports.errors import PeerError, Unavailable
from shipyard_api.ports.etcd import MemberRemoval, NotEtcd

T = TypeVar("T")

_THREADS = 16  # of one look
_MOST_URLS = 3  # of one member
_HEALTH = 5.0  # seconds for the answer about health (contract, 4.4)
_HEAD_START = 0.3  # of a look's time: how long the endpoints on the node that goes are not asked
_LISTING = 0.6  # of a look's time: until when some endpoint must have answered
_MORE = 1.0  # seconds, at most, for the request to the best member after the deadline
_ROUNDS = 2  # a list from the best member may name members that an outdated list did not


class EtcdGateway:
    """All etcd clusters of a site. Keeps nothing of them between calls; may be shared by threads."""

    def __init__(self) -> None:
        self._restarts: dict[str, PeerRestarts] = {}

    def look(self, access: EtcdAccess, *, node: NodeName | None = None, addresses: Collection[str] = ()) -> EtcdCluster:
        """Return the cluster (``ports.etcd.Etcd.look``), within its timeout and two seconds."""
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="etcd")
        try:
            return _Look(access, tls_context(access), pool, node, addresses, self._restarts).run()
        finally:
            # A thread ends with its request, which has a deadline of its own.
            pool.shutdown(wait=False, cancel_futures=True)

    def transfer_leadership(self, access: EtcdAccess, cluster: EtcdCluster, to: MemberId) -> None:
        """Request that the leader hands over (``ports.etcd.Etcd.transfer_leadership``)."""
        leaders = [member for member in cluster.members if member.leader]
        self._first_reached(access, leaders, lambda client: client.transfer_leadership(to))

    def remove(
        self, access: EtcdAccess, cluster: EtcdCluster, member: MemberId, leaving: Collection[MemberId]
    ) -> MemberRemoval:
        """Remove a member (``ports.etcd.Etcd.remove``)."""
        return self._first_reached(access, ask_order(cluster, leaving), lambda client: client.remove(member))

    def _first_reached(self, access: EtcdAccess, members: Iterable[EtcdMember], ask: Callable[[EtcdClient], T]) -> T:
        """Return the answer of the first member that the request could be sent to."""
        tls, deadline = tls_context(access), time.monotonic() + access.request_timeout
        unsent: PeerError = Unavailable(SYSTEM, access.name, "the cluster has no member to send it to", sent=False)
        for url in (url for member in members for url in member.client_urls[:_MOST_URLS]):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                with EtcdClient(url, access, tls, left, self._restarts.setdefault(url, PeerRestarts())) as client:
                    return ask(client)
            except ValueError:
                continue  # an address that nothing can be sent to, such as a socket's
            except Unavailable as error:
                if error.sent:
                    raise
                unsent = error
        raise unsent


class _Asked(Struct, frozen=True):
    """How a member answered; ``url``: where."""

    url: str
    member: EtcdMember
    status: MemberStatus | None = None

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Which answer knows most of the cluster: the highest."""
        return self.member.healthy, self.member.leader, self.status.applied if self.status else 0


class _Look:
    """One look at a cluster."""

    def __init__(
        self,
        access: EtcdAccess,
        tls: ssl.SSLContext | None,
        pool: ThreadPoolExecutor,
        node: NodeName | None,
        addresses: Collection[str],
        restarts: dict[str, PeerRestarts],
    ) -> None:
        self._access, self._tls, self._pool, self._restarts = access, tls, pool, restarts
        self._node, self._addresses = node, addresses
        self._began = time.monotonic()

    def run(self) -> EtcdCluster:
        list_answer = self._first_list()
        if list_answer is None:
            return EtcdCluster(self._access.name, minimum=self._access.minimum)
        source, listed = list_answer
        asked: dict[MemberId, _Asked] = {}
        for _ in range(_ROUNDS):
            asked |= self._ask([member for member in listed.members if member.id not in asked])
            best = self._best(asked[member.id] for member in listed.members)
            if best is None or best.url == source:
                break
            # The first list came from anybody, who may have lost touch with the cluster.
            source, listed = best.url, self._short(best.url, EtcdClient.members) or listed
            if all(member.id in asked for member in listed.members):
                break
        members = [asked[member.id] for member in listed.members if member.id in asked]
        self._check_cluster(listed, members)
        judged = tuple(answer.member for answer in members)
        return EtcdCluster(self._access.name, judged, self._access.minimum, self._has_no_space(members))

    def _left(self, share: float = 1.0) -> float:
        return self._began + self._access.request_timeout * share - time.monotonic()

    def _at_least(self, share: float) -> float:
        """Return this share of the time that is left, or of what may be added to it."""
        return max(self._left(), min(_MORE, self._access.request_timeout)) * share

    # The member list

    def _first_list(self) -> tuple[str, MemberList] | None:
        """Return the first list that an endpoint sends, with its address; those on the node that goes come last."""
        endpoints = [EtcdMember(MemberId(url), client_urls=(url,)) for url in self._access.endpoints]
        leaving = self._on_node(endpoints)
        waiting = [self._listing(endpoint.id) for endpoint in endpoints if endpoint.id not in leaving]
        list_answer = self._first(waiting, until=_HEAD_START if leaving else _LISTING)
        if list_answer is None and leaving:
            waiting += [self._listing(endpoint.id) for endpoint in endpoints if endpoint.id in leaving]
            list_answer = self._first(waiting, until=_LISTING)
        if list_answer is None:
            wrong = [
                error for listing in waiting if listing.done() and isinstance(error := listing.exception(), NotEtcd)
            ]
            if wrong:
                raise wrong[0]
        return list_answer

    def _listing(self, url: str) -> Future[tuple[str, MemberList]]:
        def ask() -> tuple[str, MemberList]:
            with self._client(url, self._left(_LISTING)) as client:
                return url, client.members()

        return self._pool.submit(propagated(ask))

    def _first(self, waiting: Collection[Future[T]], *, until: float) -> T | None:
        """Return the first result, None if all fail or none has come after this share of the time."""
        left = set(waiting)
        while left and (seconds := self._left(until)) > 0:
            done, left = wait(left, seconds, FIRST_COMPLETED)
            for future in done:
                if future.exception() is None:
                    return future.result()
        return None

    # The members

    def _ask(self, members: Collection[EtcdMember]) -> dict[MemberId, _Asked]:
        """Return how each of these members answered, all asked at once at each of their addresses."""
        seconds = self._at_least(1.0)
        asked = {
            self._pool.submit(propagated(self._ask_one), member, url, seconds / 2): _Asked(url, member)
            for member in members
            for url in member.client_urls[:_MOST_URLS]
        }
        wait(asked, seconds)
        answers = {member.id: _Asked("", member) for member in members}
        for future, never in asked.items():
            silent_one = replace(never, member=replace(never.member, state=MemberState.SLOW))
            answer = future.result() if future.done() else silent_one
            states = list(MemberState)
            if states.index(answer.member.state) < states.index(answers[answer.member.id].member.state):
                answers[answer.member.id] = answer
        return answers

    def _ask_one(self, member: EtcdMember, url: str, seconds: float) -> _Asked:
        """Return how a member answered at one address."""
        unanswered = MemberState.DEAD
        try:
            with self._client(url, min(_HEALTH, seconds)) as client:
                good = client.is_healthy()
                unanswered = MemberState.UNHEALTHY
                status = client.status()
        except ValueError:
            return _Asked(url, member)
        except Unavailable as error:
            state = MemberState.SLOW if silent(error) else unanswered
            return _Asked(url, replace(member, state=state))
        except PeerError:
            return _Asked(url, replace(member, state=MemberState.UNHEALTHY))
        return _Asked(url, translate.judged(member, status, good=good), status)

    def _best(self, asked: Iterable[_Asked]) -> _Asked | None:
        """Return who knows most of the cluster, None without a healthy member; rather none on the node that goes."""
        healthy = [answer for answer in asked if answer.member.healthy]
        leaving = self._on_node([answer.member for answer in healthy])
        return max(healthy, key=lambda answer: (answer.member.id not in leaving, answer.rank), default=None)

    def _check_cluster(self, listed: MemberList, asked: Collection[_Asked]) -> None:
        """Raise NotEtcd if members belong to different clusters."""
        numbers = {listed.cluster_id: "the list"}
        numbers |= {answer.status.cluster_id: answer.url for answer in asked if answer.status}
        if len(numbers) > 1:
            places = ", ".join(f"{place} to {number}" for number, place in numbers.items())
            detail = f"the members of cluster {self._access.name} belong to different clusters: {places}"
            raise NotEtcd(SYSTEM, "look", detail)

    def _has_no_space(self, asked: Collection[_Asked]) -> bool:
        if any(translate.NO_SPACE in error for answer in asked if answer.status for error in answer.status.errors):
            return True
        # The question goes through the log of the cluster: without a leader there is no answer.
        led = [answer for answer in asked if answer.status and answer.status.leader]
        best = max(led, key=lambda answer: answer.rank, default=None)
        return bool(best and self._short(best.url, EtcdClient.has_no_space))

    def _short(self, url: str, ask: Callable[[EtcdClient], T]) -> T | None:
        """Return an answer that the look could do without, None if it fails."""
        try:
            with self._client(url, self._at_least(0.5)) as client:
                return ask(client)
        except PeerError:
            return None

    def _client(self, url: str, seconds: float) -> EtcdClient:
        restarts = self._restarts.setdefault(url, PeerRestarts())
        return EtcdClient(url, self._access, self._tls, max(seconds, 0.001), restarts)

    def _on_node(self, members: Collection[EtcdMember]) -> Collection[str]:
        if self._node is None:
            return ()
        return members_on(EtcdCluster("", tuple(members)), self._node, self._addresses)
