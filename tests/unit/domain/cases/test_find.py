"""The causes that are found, what a case says, and when there is none."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.cases.case import Case, CaseKind, Earlier, Tie
from shipyard_api.domain.cases.features import Features, Value
from shipyard_api.domain.cases.find import NodeFact, Seen, find_cases
from shipyard_api.domain.nodes import NodeName

NIGHT = datetime(2026, 11, 21, 2, 14, tzinfo=UTC)
IPMI = "IPMI session to 10.0.0.{} timed out after 30 s"


def _names(number: int) -> list[NodeName]:
    return [NodeName(f"n{at:03}") for at in range(number)]


def _features(number: int, **columns: Iterable[Value]) -> Features:
    return Features(_names(number), {name: list(column) for name, column in columns.items()})


def _nodes(number: int, failed: Mapping[int, str], ahead: Iterable[int] = ()) -> dict[NodeName, NodeFact]:
    facts = {name: NodeFact(Seen.SPARED) for name in _names(number)}
    for at, reason in failed.items():
        facts[NodeName(f"n{at:03}")] = NodeFact(Seen.AFFECTED, reason, NIGHT + timedelta(minutes=at))
    for at in ahead:
        facts[NodeName(f"n{at:03}")] = NodeFact(Seen.AHEAD)
    return facts


def _racks(number: int, size: int = 12) -> list[str]:
    return [f"r{at // size}" for at in range(number)]


def _ipmi(places: Iterable[int]) -> dict[int, str]:
    return {at: IPMI.format(at) for at in places}


def _found(nodes: Mapping[NodeName, NodeFact], features: Features) -> tuple[Case, ...]:
    return find_cases(CaseKind.FAILED, nodes, features)


def test_a_case_says_what_failed_nodes_share_and_others_do_not() -> None:
    switches = [f"sw{at // 13}" for at in range(192)]
    failed = {**_ipmi(range(39, 50)), 150: "disk broken"}
    (case,) = _found(_nodes(192, failed), _features(192, switch=switches))
    assert case.sentence == (
        "11 of the 12 that failed hang on switch sw3; 2 of 180 others do. Since 02:53 UTC. "
        "First words: IPMI session to … timed out after 30 s."
    )
    assert case.nodes == tuple(f"n{at:03}" for at in range(39, 50))


@pytest.mark.parametrize("failed", [{}, {3: "x"}, {3: "x", 4: "x"}], ids=["none", "one", "two"])
def test_less_than_three_nodes_are_no_case(failed: Mapping[int, str]) -> None:
    assert _found(_nodes(60, failed), _features(60, rack=_racks(60))) == ()


def test_failures_all_over_the_site_are_no_case() -> None:
    failed = {at: f"reason {'abcdefgh'[at % 8]}" for at in range(0, 120, 13)}
    assert _found(_nodes(120, failed), _features(120, rack=_racks(120))) == ()


def test_all_nodes_of_a_site_that_fail_alike_are_a_case_of_their_words() -> None:
    (case,) = _found(_nodes(40, _ipmi(range(40))), _features(40, rack=_racks(40)))
    assert case.sentence == (
        "All 40 that failed give the same reason. Since 02:14 UTC. First words: IPMI session to … timed out after 30 s."
    )


def test_details_of_a_few_nodes_do_not_make_another_reason() -> None:
    failed = {at: f"n{at}: commissioning failed{'; ERROR of Mon: no lease' * (at < 10)}" for at in range(40)}
    (case,) = _found(_nodes(40, failed), _features(40, rack=_racks(40)))
    assert case.sentence.startswith("All 40 that failed give the same reason.")


def test_the_same_words_of_few_nodes_among_many_are_no_case() -> None:
    assert _found(_nodes(200, _ipmi(range(0, 200, 40))), _features(200, rack=_racks(200))) == ()


def test_of_a_power_domain_of_which_one_rack_fails_it_is_the_rack() -> None:
    domains = [f"pd{at // 48}" for at in range(192)]
    (case,) = _found(_nodes(192, _ipmi(range(48, 60))), _features(192, power_domain=domains, rack=_racks(192)))
    assert (case.feature, case.value) == ("rack", "r4")


def test_two_racks_of_a_power_domain_that_fail_for_two_reasons_are_two_cases() -> None:
    domains = [f"pd{at // 36}" for at in range(180)]
    failed = {**_ipmi(range(36, 48)), **dict.fromkeys(range(48, 60), "image not found")}
    cases = _found(_nodes(180, failed), _features(180, power_domain=domains, rack=_racks(180)))
    assert {case.value for case in cases} == {"r3", "r4"}


def test_features_that_hold_the_same_nodes_are_named_together() -> None:
    features = _features(96, rack=_racks(96), switch=[f"s{rack}" for rack in _racks(96)])
    (case,) = _found(_nodes(96, _ipmi(range(12))), features)
    assert (case.feature, case.also) == ("switch", (Tie("rack", "r0"),))
    assert "These are the same nodes: rack r0." in case.sentence


def test_a_feature_that_is_not_known_of_some_nodes_is_still_the_cause() -> None:
    racks = ["" if at % 3 == 0 else rack for at, rack in enumerate(_racks(96))]
    (case,) = _found(_nodes(96, _ipmi(range(12))), _features(96, rack=racks))
    assert case.sentence.startswith("All 8 that failed are in rack r0 (of 4 more it is not known); none of 56 others")


def test_what_the_first_case_explains_does_not_hide_the_second() -> None:
    models = ["new" if at % 4 == 0 else "old" for at in range(240)]
    failed = {**dict.fromkeys(range(0, 240, 4), "image too large"), **_ipmi(range(24, 36))}
    cases = _found(_nodes(240, failed), _features(240, rack=_racks(240), model=models))
    assert [(case.feature, case.value) for case in cases] == [("model", "new"), ("rack", "r2")]


def test_nodes_that_have_not_begun_count_for_nothing_and_are_the_rest_of_a_case() -> None:
    (case,) = _found(_nodes(96, _ipmi(range(8)), ahead=range(8, 24)), _features(96, rack=_racks(96)))
    assert (len(case.nodes), case.others_with, case.others, case.rest) == (8, 0, 72, 4)


def test_nodes_that_the_features_lack_have_none() -> None:
    nodes = {**_nodes(96, _ipmi(range(12))), NodeName("other"): NodeFact(Seen.AFFECTED)}
    (case,) = _found(nodes, _features(96, rack=_racks(96)))
    assert (case.affected, case.unknown) == (12, 1)


def test_nodes_that_are_sent_since_a_moment_are_a_case() -> None:
    nodes = {
        name: NodeFact(Seen.AFFECTED if at >= 40 else Seen.SPARED, sent=NIGHT + timedelta(minutes=10 * (at // 20)))
        for at, name in enumerate(_names(60))
    }
    (case,) = _found(nodes, _features(60))
    assert case.sentence == "All 20 that failed were sent since 02:34 UTC; none of 40 others were."


def test_an_earlier_action_with_the_same_cause_is_named() -> None:
    earlier = Earlier(2, NIGHT - timedelta(days=5), "01AAAAAAAAAAAAAAAAAAAAAAAA")
    case = Case(CaseKind.LATE, "rack", "r1", (), 4, 0, 8, since=NIGHT, earlier=earlier)
    assert case.sentence.endswith("Third time since Monday; the last time in action 01AAAAAAAAAAAAAAAAAAAAAAAA.")
