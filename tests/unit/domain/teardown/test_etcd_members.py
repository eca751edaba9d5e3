"""Which members run on a node, and which are asked (contract: promenade, 4.3)."""

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_members import (
    EtcdCluster,
    EtcdMember,
    MemberId,
    MemberState,
    ask_order,
    members_on,
)
from tests.unit.tables import every_row

NODE = NodeName("n1")


@every_row(
    {
        "name": (EtcdMember(MemberId("1"), "n1"), (), True),
        "auxiliary": (
            EtcdMember(MemberId("1"), "auxiliary-0", client_urls=("https://10.0.0.1:12379",)),
            ("10.0.0.1",),
            True,
        ),
        "host name in a URL": (EtcdMember(MemberId("1"), peer_urls=("https://N1.:2380",)), (), True),
        "IPv6": (EtcdMember(MemberId("1"), peer_urls=("https://[fd00::1]:2380",)), ("fd00:0:0::1",), True),
        "prefix": (EtcdMember(MemberId("1"), peer_urls=("https://10.0.0.11:2380",)), ("10.0.0.1",), False),
        "no URL": (EtcdMember(MemberId("1"), peer_urls=("https://[",)), ("10.0.0.1",), False),
        "and then one": (EtcdMember(MemberId("1"), peer_urls=("https://[", "https://n1:2380")), (), True),
    },
)
def test_a_member_is_on_a_node_by_name_or_by_address(
    member: EtcdMember, addresses: tuple[str, ...], is_on: bool
) -> None:
    found = members_on(EtcdCluster("etcd", (member,)), NODE, addresses)

    assert found == ({member.id} if is_on else set())


def test_a_cluster_is_the_same_without_those_that_have_left() -> None:
    members = tuple(EtcdMember(MemberId(one)) for one in "123")
    assert EtcdCluster("etcd", members).without(["1", "3", "4"]) == EtcdCluster("etcd", members[1:2])


def test_members_that_stay_are_asked_the_healthy_first() -> None:
    def member(number: int, state: MemberState, *, learner: bool = False) -> EtcdMember:
        url = (f"https://10.0.0.{number}:2379",)
        return EtcdMember(MemberId(str(number)), state=state, learner=learner, client_urls=url)

    members = (
        member(1, MemberState.HEALTHY),
        member(2, MemberState.DEAD),
        member(3, MemberState.HEALTHY, learner=True),
        member(4, MemberState.SLOW),
        member(5, MemberState.HEALTHY),
        EtcdMember(MemberId("6")),  # never started: it has no address to ask
    )

    order = ask_order(EtcdCluster("etcd", members), {MemberId("1")})

    assert [one.id for one in order] == ["5", "3", "4", "2"]
