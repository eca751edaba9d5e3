"""Answers of etcd's gateway of several releases, and others."""

from collections.abc import Callable
from typing import Any

import pytest

from shipyard_api.adapters.etcd.translate import (
    MemberList,
    MemberStatus,
    UnexpectedForm,
    has_no_space,
    is_healthy,
    judged,
    member_list,
    member_status,
)
from shipyard_api.domain.teardown.etcd_members import EtcdMember, MemberId, MemberState
from tests.unit.tables import every_row

FIVE, ID, OTHER = MemberId("5"), MemberId(str(2**64 - 1)), MemberId("7")
HEADER = {"cluster_id": "14", "member_id": 2**64 - 1}
STARTED = {"ID": 5, "name": "a", "isLearner": True, "peerURLs": ["p"], "clientURLs": ["c", "d"]}
MEMBER = EtcdMember(FIVE, "a", learner=True, peer_urls=("p",), client_urls=("c", "d"))
ODD = {"ID": "5", "name": None, "isLearner": "x", "peerURLs": "p"}
WHOLE = {"leader": "7", "errors": ["a", 1], "raftAppliedIndex": "12"}
SPACE = [7, {"alarm": "CORRUPT"}, {"alarm": "NOSPACE"}]
NO_LISTS = [[], None, {"ID": 5}, [STARTED, {}], [7], [{"ID": 5.0}], [{"ID": True}], [{"ID": "-5"}], [{"ID": "٥"}]]
NO_HEADERS: list[Any] = [None, [], {}, {"cluster_id": "1"}, {"member_id": "1"}, {"cluster_id": "x", "member_id": "1"}]


@every_row(
    [
        (member_list, {"members": [STARTED, ODD]}, MemberList("14", (MEMBER, EtcdMember(FIVE)))),
        *((member_list, {"members": members}, UnexpectedForm) for members in NO_LISTS),
        *((member_status, {"header": header}, UnexpectedForm) for header in NO_HEADERS),
        (member_status, {}, MemberStatus("14", ID)),
        (member_status, {"leader": "0", "errors": "x"}, MemberStatus("14", ID)),
        (member_status, WHOLE, MemberStatus("14", ID, "7", ("a", "1"), 12)),
        *((is_healthy, {"health": good}, True) for good in ("true", True)),
        *((is_healthy, {"health": bad}, False) for bad in ("false", False, None, "yes")),
        *((has_no_space, {"alarms": alarms}, False) for alarms in (None, [], SPACE[:2])),
        (has_no_space, {"alarms": SPACE}, True),
    ]
)
def test_an_answer_has_one_meaning_or_none(read: Callable[[Any], object], answer: Any, meaning: object) -> None:
    if meaning is UnexpectedForm:
        with pytest.raises(UnexpectedForm):
            read({"header": HEADER} | answer)
    else:
        assert read({"header": HEADER} | answer) == meaning


# Its status and its health; whether it is healthy, and leads.
@every_row(
    [
        (MemberStatus("14", ID, ID), True, True, True),
        (MemberStatus("14", ID, OTHER), True, True, False),
        (MemberStatus("14", ID), True, False, False),
        (MemberStatus("14", ID, ID), False, False, True),
        (MemberStatus("14", ID, OTHER, ("NOSPACE",)), True, False, False),
        (MemberStatus("14", OTHER, OTHER), True, False, False),
        (MemberStatus("14", OTHER, ID), True, False, False),
    ]
)
def test_a_member_is_healthy_if_it_says_so_itself(status: MemberStatus, good: bool, healthy: bool, leads: bool) -> None:
    state = MemberState.HEALTHY if healthy else MemberState.UNHEALTHY
    assert judged(EtcdMember(ID), status, good=good) == EtcdMember(ID, state=state, leader=leads)
