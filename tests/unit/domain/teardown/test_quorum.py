"""Whether members may leave (contract: promenade, 4.3; product, 6). A member is written as a letter: see ``STATES``."""

from functools import cache
from itertools import product

from shipyard_api.domain.teardown.etcd_health import Readiness, readiness
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, MemberState, Minimum
from shipyard_api.domain.teardown.quorum import (
    Gone,
    Obstacle,
    ObstacleKind,
    Refused,
    Remove,
    decide_removal,
    lowered,
    survivable_failures,
)
from tests.unit.tables import every_row

STATES = {
    "h": MemberState.HEALTHY,
    "u": MemberState.UNHEALTHY,
    "s": MemberState.SLOW,
    "d": MemberState.DEAD,
    "l": MemberState.HEALTHY,  # a learner
}
LARGEST = 4
NO_MINIMUM = Minimum()
UNREACHABLE, NO_QUORUM, LAST, LOSES, MEMBERS, HEALTHY = ObstacleKind


@cache
def cluster(states: str, minimum: Minimum = NO_MINIMUM, leader: int | None = None) -> EtcdCluster:
    """Return a cluster with a member for each letter; a blank is a member that has gone. Ids count from 0."""
    members = (
        EtcdMember(MemberId(str(place)), state=STATES[letter], learner=letter == "l", leader=place == leader)
        for place, letter in enumerate(states)
        if letter != " "
    )
    return EtcdCluster("etcd", tuple(members), minimum)


def ids(*places: int) -> frozenset[MemberId]:
    return frozenset(MemberId(str(place)) for place in places)


# --- What goes --------------------------------------------------------------------------------------------------------


@every_row(
    [
        ("hhh", (0,), "0"),
        ("dhh", (0,), "0"),  # dead, without anything from its host
        ("hhhhd", (0,), "0"),
        ("lhhd", (0,), "0"),  # a learner has no vote
        ("hdh", (0, 1), "1"),  # the sick one first: the healthy one is needed until then
        ("hlhh", (0, 1), "1"),  # learners first
    ],
)
def test_a_member_may_leave_if_the_rest_has_a_quorum(states: str, leaving: tuple[int, ...], first: str) -> None:
    assert decide_removal(cluster(states), ids(*leaving)) == Remove(MemberId(first))


def test_the_leader_goes_last_and_hands_over_to_a_healthy_voter_that_stays() -> None:
    members = cluster("hhldhhh", leader=0)

    assert decide_removal(members, ids(0, 1)) == Remove(MemberId("1"))
    assert decide_removal(members, ids(0)) == Remove(MemberId("0"), transfer_to=MemberId("1"))
    assert decide_removal(cluster("uhh", leader=0), ids(0)) == Remove(MemberId("0"))


@every_row([" hh", "hd", "d"])
def test_a_member_that_is_not_in_the_list_is_gone(states: str) -> None:
    assert decide_removal(cluster(states), ids(4)) == Gone()


# --- What stays -------------------------------------------------------------------------------------------------------


@every_row(
    [
        ("", (0,), [(UNREACHABLE, 1, 0)]),
        ("h", (0,), [(LAST, 1, 0)]),
        ("hd", (0,), [(NO_QUORUM, 2, 1), (LOSES, 1, 0)]),
        ("dh", (0,), [(NO_QUORUM, 2, 1)]),  # etcd would never commit it
        ("hhd", (0,), [(LOSES, 2, 1)]),
        ("hhu", (0,), [(LOSES, 2, 1)]),
        ("hhdl", (0, 3), [(LOSES, 2, 1)]),  # a learner that leaves with it changes nothing
        ("hhh", (0, 1, 2), [(LAST, 1, 0)]),  # the first host of a site before others have joined
        ("hhhd", (0, 1), [(LOSES, 2, 1)]),  # the first alone could go, but the node could not
    ],
)
def test_a_removal_that_would_lose_the_quorum_is_refused_with_its_numbers(
    states: str, leaving: tuple[int, ...], missed: list[tuple[ObstacleKind, int, int]]
) -> None:
    removal = decide_removal(cluster(states), ids(*leaving))

    assert isinstance(removal, Refused)
    assert list(removal.obstacles) == [Obstacle(*one) for one in missed]


@every_row(
    [
        ("hhhh", Minimum(3, 2), [], []),
        ("hhh", Minimum(3, 2), [(MEMBERS, 3, 2)], []),
        ("hhhd", Minimum(3, 3), [(HEALTHY, 3, 2)], []),
        ("shh", Minimum(3, 2), [(MEMBERS, 3, 2)], []),  # it may recover at any moment
        ("dhh", Minimum(3, 2), [], [(MEMBERS, 3, 2)]),  # it is itself the sick one
        ("dhhh", Minimum(4, 4), [], [(MEMBERS, 4, 3), (HEALTHY, 4, 3)]),
        ("lhh", Minimum(3, 3), [], []),  # the minimum is about voters, and keeps them
    ],
)
def test_a_healthy_member_keeps_the_minimum_of_the_site_and_a_sick_one_may_go_below_it(
    states: str,
    minimum: Minimum,
    missed: list[tuple[ObstacleKind, int, int]],
    waived: list[tuple[ObstacleKind, int, int]],
) -> None:
    removal = decide_removal(cluster(states, minimum), ids(0))

    if missed:
        assert isinstance(removal, Refused)
        assert {Obstacle(*one) for one in missed} <= {*removal.obstacles}
    else:
        assert removal == Remove(MemberId("0"), waived=tuple(Obstacle(*one) for one in waived))


def test_what_was_waived_is_not_expected_afterwards() -> None:
    removal = decide_removal(cluster("dhh", Minimum(3, 2)), ids(0))
    after = cluster(" hh", Minimum(3, 2))

    assert isinstance(removal, Remove)
    assert lowered(Minimum(3, 2), removal.waived) == Minimum(2, 2)
    few = [Obstacle(HEALTHY, 3, 1), Obstacle(MEMBERS, 1, 2)]
    assert lowered(Minimum(1, 3), few) == Minimum(1, 1)  # never more than the site wants
    assert readiness(after, (), removal.waived) is Readiness.READY
    assert readiness(after, ()) is Readiness.NOT_YET


@every_row(
    [
        ("h", (0,), True),
        ("hdd", (0,), True),
        ("hsd", (0,), False),  # the slow one may hold the data, and be cut off by the loss of this one
        ("hhd", (0,), False),
        ("", (0,), False),
    ],
)
def test_force_only_gives_up_a_cluster_of_which_nothing_would_be_left(
    states: str, leaving: tuple[int, ...], can_be_forced: bool
) -> None:
    removal = decide_removal(cluster(states), ids(*leaving))

    assert isinstance(removal, Refused)
    assert removal.can_be_forced is can_be_forced


def test_a_refusal_reads_as_sentences_with_numbers() -> None:
    removal = decide_removal(cluster("hhd", Minimum(3, 2)), ids(0))

    assert str(removal) == (
        "the rest would have no quorum: 1 healthy voters, 2 needed; the site wants at least 3 members, 2 would remain; "
        "the site wants at least 2 healthy members, 1 would remain"
    )


@every_row([("hhh", (), 1), ("hhh", (0,), 0), ("hhhhh", (0,), 1), ("hhd", (0,), -1)])
def test_the_failures_that_a_cluster_survives_afterwards(states: str, leaving: tuple[int, ...], survives: int) -> None:
    assert survivable_failures(cluster(states), ids(*leaving)) == survives


# --- Every cluster ----------------------------------------------------------------------------------------------------


def has_quorum(states: str, without: int | None = None) -> bool:
    """The arithmetic again, sharing nothing with the product's."""
    voters = [letter for place, letter in enumerate(states) if place != without and letter not in " l"]
    return 2 * voters.count("h") > len(voters)


def test_a_member_leaves_exactly_where_a_quorum_commits_it_and_stays() -> None:
    """Each state of 1 to 4 members × each target. What a whole teardown then does: tests/property/test_teardown.py."""
    for size in range(1, LARGEST + 1):
        for letters in product("hdsl ", repeat=size):
            states = "".join(letters)
            for target, letter in enumerate(letters):
                allowed = letter != " " and has_quorum(states) and (letter == "l" or has_quorum(states, target))
                assert isinstance(decide_removal(cluster(states), ids(target)), Remove) == allowed
