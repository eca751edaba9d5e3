"""What every etcd cluster promises (ports/etcd.py), driven by the domain's decisions as a teardown drives them."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from shipyard_api.adapters.etcd.gateway import EtcdGateway
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.etcd_health import Health, Readiness, health, readiness
from shipyard_api.domain.teardown.etcd_members import (
    EtcdCluster,
    EtcdMember,
    MemberId,
    MemberState,
    Minimum,
    members_on,
)
from shipyard_api.domain.teardown.quorum import Gone, Refused, Remove, decide_removal, survivable_failures
from shipyard_api.ports import errors
from shipyard_api.ports.errors import Busy, PeerError, Unavailable
from shipyard_api.ports.etcd import Etcd, MemberRemoval, NotEtcd
from shipyard_simulators.etcd import simulator as etcd_simulator
from shipyard_simulators.etcd.cluster import CLUSTER_ID
from shipyard_simulators.etcd.cluster import MemberState as Simulated
from tests.contract.etcd_sites import NAMES, SITES, Site, accepts_writes
from tests.peer import PATIENT, Answer, Peer, running, seconds_for
from tests.waiting import until

ETCD: Etcd = EtcdGateway()
HEALTHY, UNHEALTHY, SLOW, DEAD = MemberState


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A cluster of three members, all healthy."""
    with ExitStack() as cleanup:
        site = SITES[request.param](cleanup, tmp_path)
        seen(site, lambda cluster: states(cluster) == dict.fromkeys(NAMES, HEALTHY))
        yield site


def states(cluster: EtcdCluster) -> dict[str, MemberState]:
    return {member.name: member.state for member in cluster.members}


def named(cluster: EtcdCluster, name: str) -> EtcdMember:
    return next(member for member in cluster.members if member.name == name)


def seen(site: Site, holds: Any) -> EtcdCluster:
    """Return the cluster once this holds."""

    def found() -> EtcdCluster | None:
        cluster = ETCD.look(site.access)
        return cluster if holds(cluster) else None

    return until(found, lambda: ETCD.look(site.access), every=site.every)


def take_out(site: Site, node: str, access: EtcdAccess | None = None, **on: Any) -> tuple[list[Remove], Refused | Gone]:
    """Remove the members of a node as a teardown does; return what was removed, and the last decision."""
    access, removed = access or site.access, list[Remove]()

    def refused_or_gone() -> Refused | Gone | None:
        nonlocal access
        cluster = ETCD.look(access, node=NodeName(node), **on)
        access = access.with_addresses(cluster.addresses)
        leaving = members_on(cluster, NodeName(node), on.get("addresses", ()))
        decision = decide_removal(cluster, leaving)
        if not isinstance(decision, Remove):
            return decision
        if decision.transfer_to:
            ETCD.transfer_leadership(access, cluster, decision.transfer_to)
        ETCD.remove(access, cluster, decision.member, leaving)
        removed.append(decision)
        return None

    # Busy, "unhealthy cluster": not connected for long enough.
    last = until(refused_or_gone, lambda: f"{node} is in {ETCD.look(access)}", every=site.every, but=Busy)
    return removed, last


def settled(site: Site, node: str) -> EtcdCluster:
    """Wait until a teardown of the node may go on, and assert that the cluster works."""
    node_name = NodeName(node)
    cluster = seen(site, lambda found: readiness(found, members_on(found, node_name, ())) is Readiness.READY)
    assert accepts_writes(site)
    return cluster


def test_a_healthy_member_is_removed_and_is_gone_when_asked_again(site: Site) -> None:
    before = ETCD.look(site.access)
    follower = next(member for member in before.members if not member.leader)
    assert [member.leader for member in before.members].count(True) == 1
    assert survivable_failures(before) == 1

    removed, last = take_out(site, follower.name)

    assert ([one.member for one in removed], last) == ([follower.id], Gone())
    cluster = settled(site, follower.name)
    assert set(states(cluster)) == {*NAMES} - {follower.name}
    assert survivable_failures(cluster) == 0
    # As after a worker that was killed between the removal and its record.
    assert ETCD.remove(site.access, cluster, follower.id, [follower.id]) is MemberRemoval.GONE


def test_a_dead_member_is_removed_without_its_host_even_below_the_minimum_but_a_healthy_one_is_not(site: Site) -> None:
    site.kill("m2")
    wanted = replace(site.access, minimum=Minimum(3, 2))
    before = seen(site, lambda cluster: states(cluster)["m2"] is DEAD and health(cluster) is Health.HEALTHY)

    # What would lose the quorum is refused, and nothing is sent.
    assert isinstance(take_out(site, "m1")[1], Refused)
    assert set(states(ETCD.look(site.access))) == {*NAMES}
    assert accepts_writes(site)

    ((removal,), last) = take_out(site, "m2", wanted)
    assert (removal.member, last) == (named(before, "m2").id, Gone())
    assert [obstacle.actual for obstacle in removal.waived] == [2]
    settled(site, "m2")


def test_a_leader_hands_over_and_leaves(site: Site) -> None:
    leader = next(member for member in ETCD.look(site.access).members if member.leader)

    cluster = ETCD.look(site.access)
    decision = decide_removal(cluster, [leader.id])
    assert isinstance(decision, Remove)
    assert decision.transfer_to
    ETCD.transfer_leadership(site.access, cluster, decision.transfer_to)
    after = seen(site, lambda found: any(member.leader for member in found.members))
    assert [member.id for member in after.members if member.leader] == [decision.transfer_to]

    ((removal,), _) = take_out(site, leader.name)

    assert (removal.member, removal.transfer_to) == (leader.id, None)
    settled(site, leader.name)


def test_of_four_members_one_leaves_and_what_comes_back_is_noticed(site: Site) -> None:
    site.add("m4")
    seen(site, lambda cluster: list(states(cluster).values()) == [HEALTHY] * 4)

    take_out(site, "m4")
    assert set(states(settled(site, "m4"))) == {*NAMES}

    site.add("m4")
    back = seen(site, lambda cluster: states(cluster).get("m4") is HEALTHY)
    assert readiness(back, members_on(back, NodeName("m4"), ())) is Readiness.MEMBER_IS_BACK
    assert accepts_writes(site)


def test_a_member_that_hangs_holds_nothing_up_and_can_leave(site: Site) -> None:
    site.hang("m2")
    first = replace(site.access, endpoints=(site.access.endpoints[1], site.access.endpoints[0]))

    began = time.monotonic()
    cluster = ETCD.look(first)

    assert time.monotonic() - began < site.access.request_timeout + 2
    assert states(cluster)["m2"] is SLOW
    seen(site, lambda found: health(found) is Health.HEALTHY)
    assert isinstance(take_out(site, "m2")[1], Gone)
    settled(site, "m2")


def test_a_cluster_known_by_the_node_that_goes_alone_is_asked_through_its_other_members(site: Site) -> None:
    on_it = f"https://localhost:{urlsplit(site.access.endpoints[0]).port}"
    access = replace(site.access, endpoints=(on_it,), server_name="127.0.0.1")
    leaving = named(ETCD.look(access), "m1").id

    removed, last = take_out(site, "m1", access, addresses=["localhost"])

    assert ([one.member for one in removed], type(last)) == ([leaving], Gone)
    settled(site, "m1")
    # It has ended, and with it the only address of the document.
    assert ETCD.look(access).members == ()


def test_without_a_quorum_a_removal_has_no_outcome_and_is_decided_against(site: Site) -> None:
    before = ETCD.look(site.access)
    for name in ("m1", "m2"):
        site.kill(name)
    cluster = seen(site, lambda found: states(found) == {"m1": DEAD, "m2": DEAD, "m3": UNHEALTHY})
    assert health(cluster) is Health.UNHEALTHY
    assert isinstance(decide_removal(cluster, [named(cluster, "m2").id]), Refused)

    dead = named(before, "m2").id
    began = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        ETCD.remove(site.access, cluster, dead, [dead])
    assert caught.value.sent
    assert time.monotonic() - began < site.access.request_timeout + 2

    for name in ("m1", "m2"):
        site.start(name)
    # It may have been applied after all: then m2 is out.
    seen(site, lambda found: health(found) is Health.HEALTHY and set(states(found)) in ({*NAMES}, {"m1", "m3"}))
    assert accepts_writes(site)


def test_a_learner_is_told_from_voters_and_leaves(site: Site) -> None:
    site.add("m4", learner=True)
    cluster = seen(site, lambda found: states(found).get("m4") is HEALTHY)
    assert [member.name for member in cluster.members if member.learner] == ["m4"]
    assert len(cluster.voters) == 3

    take_out(site, "m4")

    settled(site, "m4")


def test_without_credentials_or_endpoints_there_is_no_list(site: Site) -> None:
    assert ETCD.look(replace(site.access, cert="", key="")).members == ()
    assert ETCD.look(replace(site.access, endpoints=("https://127.0.0.1:9",))).members == ()
    assert ETCD.look(replace(site.access, server_name="other.example.org")).members == ()
    assert health(ETCD.look(replace(site.access, ca=site.access.cert))) is Health.UNREACHABLE


# The simulator's members in states that a real etcd is hard to bring into


@pytest.fixture
def simulated() -> Iterator[etcd_simulator.EtcdSimulator]:
    with etcd_simulator.running(time_scale=0.1) as simulator:
        yield simulator


def plain(simulator: etcd_simulator.EtcdSimulator, *, timeout: float = PATIENT) -> EtcdAccess:
    return EtcdAccess("e", simulator.endpoints, request_timeout=timeout)


def test_a_member_that_never_started_is_dead_and_blocks_others(simulated: etcd_simulator.EtcdSimulator) -> None:
    simulated.put("m3", Simulated.KILLED)
    ETCD.remove(plain(simulated), cluster := ETCD.look(plain(simulated)), named(cluster, "m3").id, [])
    simulated.put("m9", Simulated.NEVER_STARTED)

    cluster = ETCD.look(plain(simulated))

    assert sorted(states(cluster).items()) == [("", DEAD), ("m1", HEALTHY), ("m2", HEALTHY)]
    with pytest.raises(Busy, match="not enough started members"):
        ETCD.remove(plain(simulated), cluster, named(cluster, "m1").id, [])
    assert ETCD.remove(plain(simulated), cluster, named(cluster, "").id, []) is MemberRemoval.REMOVED


def test_members_of_another_cluster_end_the_look(simulated: etcd_simulator.EtcdSimulator) -> None:
    simulated.put("m1", Simulated.FOREIGN)
    with pytest.raises(NotEtcd, match="different clusters"):
        ETCD.look(plain(simulated))


def test_an_outdated_list_is_replaced_by_that_of_the_member_who_knows_most(
    simulated: etcd_simulator.EtcdSimulator, peer: Peer
) -> None:
    m1, m2, _m3 = (member.entry() for member in simulated.cluster.members)
    removed = {"ID": "9", "name": "m9", "clientURLs": ["http://127.0.0.1:9"]}
    header = {"cluster_id": str(CLUSTER_ID), "member_id": "9"}
    peer.on("POST /v3/cluster/member/list", Answer(200, {"header": header, "members": [m1, m2, removed]}))

    cluster = ETCD.look(EtcdAccess("e", (peer.url,), request_timeout=PATIENT))

    assert states(cluster) == dict.fromkeys(NAMES, HEALTHY)


def test_an_alarm_is_seen_and_a_cluster_without_space_is_unhealthy(simulated: etcd_simulator.EtcdSimulator) -> None:
    assert not ETCD.look(plain(simulated)).no_space
    simulated.cluster.no_space = True
    cluster = ETCD.look(plain(simulated))
    assert (cluster.no_space, health(cluster)) == (True, Health.UNHEALTHY)


def test_a_gateway_of_3_3_is_asked_below_its_own_prefix() -> None:
    with etcd_simulator.running(time_scale=0.1, prefix="/v3beta") as simulator:
        cluster = ETCD.look(plain(simulator))
        assert states(cluster) == dict.fromkeys(NAMES, HEALTHY)
        follower = next(member for member in cluster.members if not member.leader)
        assert ETCD.remove(plain(simulator), cluster, follower.id, [follower.id]) is MemberRemoval.REMOVED


# Answers that no etcd gives, or only an odd one

HEADER = {"cluster_id": "1", "member_id": "7"}
STATUS = {"header": HEADER, "leader": "7", "raftAppliedIndex": "9"}
WRONG_LISTS = {
    "a page for people": Answer(200, "<html>"),
    "no object": Answer(200, []),
    "no members": Answer(200, {"header": HEADER}),
    "numbers that lost digits": Answer(200, {"header": HEADER, "members": [{"ID": 1.3755709e19}]}),
    "no header": Answer(200, {"members": [{"ID": "7"}]}),
    "no right": Answer(403, "no"),
    "another place": Answer(302, b"", {"Location": "http://elsewhere"}),
    "no such route": Answer(404, "404 page not found"),
}


def alone(peer: Peer, status: Answer, health_answer: Answer) -> EtcdCluster:
    """Return a look at a cluster of one member, which gives these answers."""
    member = {"ID": "7", "name": "m1", "clientURLs": ["unix:///run/etcd", peer.url]}
    peer.on("POST /v3/cluster/member/list", Answer(200, {"header": HEADER, "members": [member]}))
    peer.on("POST /v3/maintenance/status", status)
    peer.on("POST /v3/maintenance/alarm", Answer(200, {}))
    peer.on("GET /health", health_answer)
    return ETCD.look(EtcdAccess("e", (peer.url,), request_timeout=seconds_for(status, health_answer)))


def test_an_endpoint_that_is_no_etcd_is_named() -> None:
    for title, wrong in WRONG_LISTS.items():
        with running() as peer:  # another one each time: whether one restarts is remembered
            for prefix in ("v3", "v3beta"):
                peer.on(f"POST /{prefix}/cluster/member/list", wrong)
            with pytest.raises(NotEtcd) as caught:
                ETCD.look(EtcdAccess("e", (peer.url,), request_timeout=PATIENT))
            assert urlsplit(peer.url).netloc in str(caught.value), title


WELL = Answer(200, {"health": "true"})
STATES = {
    "as it should be": (Answer(200, STATUS), WELL, HEALTHY),
    "not healthy": (Answer(200, STATUS), Answer(503, {"health": "false"}), UNHEALTHY),
    "reason": (Answer(200, STATUS), Answer(200, {"health": "false", "reason": "x"}), UNHEALTHY),
    "a page for people": (Answer(200, STATUS), Answer(200, "<html>"), UNHEALTHY),
    "no leader": (Answer(200, {"header": HEADER}), WELL, UNHEALTHY),
    "errors": (Answer(200, STATUS | {"errors": ["alarm"]}), WELL, UNHEALTHY),
    "another member answers": (Answer(200, STATUS | {"header": {**HEADER, "member_id": "8"}}), WELL, UNHEALTHY),
    "a certificate not for clients": (Answer(503, {"message": "tls: bad certificate", "code": 14}), WELL, UNHEALTHY),
    "no status in time": (Answer(hang=True), WELL, SLOW),
    "no health in time": (Answer(200, STATUS), Answer(hang=True), SLOW),
}


def test_the_state_of_a_member_is_what_it_answers_itself(peer: Peer) -> None:
    for title, (status, health_answer, expected) in STATES.items():
        (member,) = alone(peer, status, health_answer).members
        assert member.state is expected, title


FAILURES: list[tuple[Answer, type[PeerError]]] = [
    (Answer(503, {"error": "x", "message": "etcdserver: unhealthy cluster", "code": 14}), Busy),
    (Answer(503, {"error": "x", "message": "etcdserver: request timed out", "code": 14}), Unavailable),
    (Answer(412, {"error": "x", "message": "etcdserver: not enough started members", "code": 9}), Busy),
    (Answer(429, {"error": "x", "message": "etcdserver: too many requests", "code": 8}), Busy),
    (Answer(400, {"error": "bad", "message": "", "code": 3}), errors.Refused),
    (Answer(403, {"error": "bad", "message": "etcdserver: permission denied", "code": 7}), errors.Refused),
    (Answer(501, {"error": "bad", "message": "not implemented", "code": 12}), errors.Refused),
    (Answer(401, {"error": "bad", "message": "etcdserver: invalid auth token", "code": 16}), errors.Refused),
    *((Answer(status, "<html>"), Unavailable) for status in (502, 503, 504)),
    (Answer(200, {}, cut=1), Unavailable),
    (Answer(hang=True), Unavailable),
]


def test_a_removal_that_fails_has_the_kind_of_its_failure(peer: Peer) -> None:
    members = tuple(EtcdMember(MemberId(name), name, HEALTHY, client_urls=(peer.url,)) for name in ("6", "7"))
    for answer, expected in FAILURES:
        peer.on("POST /v3/cluster/member/remove", answer)
        access = EtcdAccess("e", (), request_timeout=seconds_for(answer))
        with pytest.raises(expected) as caught:
            ETCD.remove(access, EtcdCluster("e", members), MemberId("8"), ())
        assert type(caught.value) in (expected, *expected.__subclasses__())
        if expected is errors.Refused:
            said = answer.body["message"] or answer.body["error"]
            assert (caught.value.code, caught.value.said) == (answer.status, said)
    # Each may have arrived, so the next member is not asked.
    assert [one.json for one in peer.requests] == [{"ID": "8"}] * len(FAILURES)


def test_a_removal_goes_to_the_next_member_only_if_it_never_left_us(peer: Peer) -> None:
    peer.on("POST /v3/cluster/member/remove", Answer(200, {}))
    first = EtcdMember(MemberId("1"), "m1", HEALTHY, client_urls=("http://127.0.0.1:9",))
    second = EtcdMember(MemberId("2"), "m2", HEALTHY, client_urls=(peer.url,))
    access = EtcdAccess("e", (), request_timeout=PATIENT)

    assert ETCD.remove(access, EtcdCluster("e", (first, second)), MemberId("3"), ()) is MemberRemoval.REMOVED
    with pytest.raises(Unavailable) as caught:
        ETCD.remove(access, EtcdCluster("e", (first, second)), MemberId("2"), [MemberId("2")])
    assert not caught.value.sent


def test_certificates_that_cannot_be_used_are_named_and_not_quoted() -> None:
    secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
    for pem in ({"ca": "c2VjcmV0"}, {"ca": "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----"}):
        with pytest.raises(errors.Refused) as caught:
            ETCD.look(EtcdAccess("e", ("https://127.0.0.1:9",), **pem, cert=secret, key=secret))
        assert "cluster e" in str(caught.value)
        assert "c2VjcmV0" not in repr(caught.value)
