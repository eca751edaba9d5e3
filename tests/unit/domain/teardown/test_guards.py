"""What forbids a teardown as a whole, and that force overrides it."""

from shipyard_api.domain.findings import Level, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.drain_plan import DrainPlan, PlannedPod, PodClass
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, MemberState
from shipyard_api.domain.teardown.guards import check_drain, check_service, check_teardown, overridden
from shipyard_api.domain.teardown.pods import Pod, PodUid
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")
STATES = {"h": MemberState.HEALTHY, "s": MemberState.SLOW, "d": MemberState.DEAD}


def cluster(states: str) -> EtcdCluster:
    members = (EtcdMember(MemberId(str(place)), state=STATES[letter]) for place, letter in enumerate(states))
    return EtcdCluster("etcd", tuple(members))


@every_row(
    [
        ("hhh", "0", []),
        ("h", "", []),  # not on this node
        ("h", "0", [("LastHealthyEtcdMember", Level.ERROR)]),
        ("hss", "0", [("LastHealthyEtcdMember", Level.ERROR)]),
        ("hhd", "0", [("EtcdRemovalBlocked", Level.ERROR)]),  # known before anything is drained
        ("hhs", "0", [("EtcdRemovalBlocked", Level.WARNING)]),  # a slow member may be back in time
        ("hhh", "012", [("LastHealthyEtcdMember", Level.ERROR)]),
        ("", "", [("EtcdNotAccessible", Level.ERROR)]),
    ],
)
def test_a_node_with_the_last_healthy_member_is_not_torn_down(
    states: str, leaving: str, expected: list[tuple[str, Level]]
) -> None:
    found = check_teardown(N1, (), {cluster(states): frozenset(map(MemberId, leaving))})

    assert [(finding.name, finding.level) for finding in found] == expected
    assert all("n1" in finding.message and "etcd" in finding.message for finding in found)


@every_row(
    [
        ("hhh", "0", []),
        ("hhh", "01", ["EtcdLosesQuorum"]),
        ("hhd", "2", []),
        ("hhd", "0", ["EtcdLosesQuorum"]),
        ("hhhhh", "01", []),
        ("h", "0", ["EtcdLosesQuorum"]),
        ("hdd", "", []),  # no quorum already, but not by this
        ("", "", ["EtcdNotAccessible"]),
    ],
)
def test_a_group_is_serviced_only_if_etcd_keeps_its_quorum(states: str, away: str, expected: list[str]) -> None:
    found = check_service("masters", [N1, N2], {cluster(states): frozenset(map(MemberId, away))})

    assert [finding.name for finding in errors(found)] == expected
    assert all("masters (n1, n2)" in one.message for one in found if one.name == "EtcdLosesQuorum")


def test_the_genesis_node_is_not_torn_down() -> None:
    assert [finding.name for finding in check_teardown(N1, {N1}, {})] == ["GenesisNode"]
    assert check_teardown(N2, {N1}, {}) == ()


def test_every_reason_is_named_and_force_makes_warnings_of_them() -> None:
    found = check_teardown(N1, {N1}, {cluster("h"): {MemberId("0")}, cluster(""): ()})

    assert [finding.name for finding in errors(found)] == ["GenesisNode", "LastHealthyEtcdMember", "EtcdNotAccessible"]
    assert not errors(overridden(found))
    assert [finding.message for finding in overridden(found)] == [finding.message for finding in found]


@every_row([(1, "p0: kept."), (10, "p9: kept."), (11, "p9: kept; and 1 more.")])
def test_a_drain_that_budgets_forbid_names_ten_pods_and_counts_the_rest(count: int, last: str) -> None:
    pods = (Pod("default", f"p{number}", PodUid("u")) for number in range(count))
    plan = DrainPlan(tuple(PlannedPod(pod, PodClass.BLOCKED_FOREVER, why="kept") for pod in pods))

    (found,) = check_drain(N1, plan, OnBlocked.FAIL)

    assert f"default/{last} Change" in found.message
    assert check_drain(N1, plan, OnBlocked.DELETE) == ()
