"""Health of a cluster, and when a teardown may go on (contract: promenade, 3.3 and 4.4). Letters as in test_quorum."""

from msgspec.structs import replace

from shipyard_api.domain.teardown.etcd_health import Health, Readiness, health, health_details, readiness
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, MemberState, Minimum
from tests.unit.tables import every_row

STATES = {"h": MemberState.HEALTHY, "u": MemberState.UNHEALTHY, "s": MemberState.SLOW, "d": MemberState.DEAD}


def cluster(states: str) -> EtcdCluster:
    members = (
        EtcdMember(MemberId(str(place)), state=STATES[letter.lower()], learner=letter.isupper())
        for place, letter in enumerate(states)
    )
    return EtcdCluster("etcd", tuple(members))


@every_row(
    [
        ("hhh", Health.HEALTHY),
        ("hsd", Health.UNHEALTHY),
        ("hhddH", Health.UNHEALTHY),  # a learner has no vote
        ("Hdd", Health.UNHEALTHY),  # but it answers
        ("ssd", Health.UNREACHABLE),
        ("", Health.UNREACHABLE),
    ],
)
def test_a_cluster_is_healthy_while_most_voters_are(states: str, expected: Health) -> None:
    assert health(cluster(states)) is expected


def test_members_of_the_node_that_goes_do_not_count() -> None:
    assert health(cluster("hdh"), {MemberId("1")}) is Health.HEALTHY
    assert health(cluster("hhd"), {MemberId("0")}) is Health.UNHEALTHY
    assert health(cluster("hd"), {MemberId("0")}) is Health.UNREACHABLE


def test_an_alarm_or_a_missed_minimum_is_not_healthy() -> None:
    assert health(replace(cluster("hhh"), no_space=True)) is Health.UNHEALTHY
    assert health(replace(cluster("hhd"), minimum=Minimum(3, 2))) is Health.HEALTHY
    assert health(replace(cluster("hhd"), minimum=Minimum(3, 3))) is Health.UNHEALTHY
    assert health(replace(cluster("hh"), minimum=Minimum(3, 2))) is Health.UNHEALTHY


@every_row(
    [
        ("hh", (), Readiness.READY),
        ("hs", (), Readiness.NOT_YET),
        ("", (), Readiness.NOT_YET),
        ("hhh", ("2",), Readiness.MEMBER_IS_BACK),
    ],
)
def test_a_teardown_goes_on_with_a_healthy_cluster_that_the_member_has_left(
    states: str, leaving: tuple[str, ...], expected: Readiness
) -> None:
    assert readiness(cluster(states), tuple(map(MemberId, leaving))) is expected


def test_the_details_of_an_answer_count_only_clusters_that_cannot_be_reached() -> None:
    found = [replace(cluster(states), name=name) for name, states in {"a": "hhh", "b": "hdd", "c": "ssd"}.items()]
    details = health_details(found)
    messages = [(each["name"], each["message"], each["error"], each["kind"]) for each in details["messageList"]]

    assert (details["errorCount"], messages) == (
        1,
        [
            ("a", "Healthy", False, "HealthMessage"),
            ("b", "Unhealthy", False, "HealthMessage"),
            ("c", "Unable to access Etcd", True, "HealthMessage"),
        ],
    )


def test_each_member_is_named_with_its_state() -> None:
    members = (
        EtcdMember(MemberId("1"), "ctl02", MemberState.HEALTHY, leader=True),
        EtcdMember(MemberId("2"), "ctl01", MemberState.SLOW),
        EtcdMember(MemberId("3"), learner=True, peer_urls=("http://10.0.0.3:2380",)),
        EtcdMember(MemberId("4")),
    )
    (message,) = health_details([EtcdCluster("etcd", members)])["messageList"]

    assert [tuple(member.values()) for member in message["members"]] == [
        ("4", "dead", False, False),
        ("ctl01", "slow", False, False),
        ("ctl02", "healthy", True, False),
        ("http://10.0.0.3:2380", "dead", False, True),
    ]
