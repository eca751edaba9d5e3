"""The nodes of a targeted action (contract: shipyard-actions, chapters 3, 8.1 and 13)."""

import pytest

from shipyard_api.domain.errors import InvalidTargets
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import parse_strategy
from shipyard_api.domain.targets import TARGET_GROUP, parse_targets, restricted, targeted
from tests.factories import group_entry, play
from tests.refusals import refuses


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("n1,n2", id="text"),
        pytest.param(" n1 , n2 ", id="text with blanks"),
        pytest.param("n1,,n2,", id="text with empty parts"),
        pytest.param(["n1", "n2"], id="list, the form of the manual"),
        pytest.param(["n1,n2"], id="text inside a list"),
        pytest.param(["n1", "", "n2", "n1"], id="list with an empty part and a name twice"),
    ],
)
def test_targets_are_a_list_or_a_text_with_commas(written: object) -> None:
    assert parse_targets(written) == ("n1", "n2")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty text"),
        pytest.param(" , ,", id="text without names"),
        pytest.param([], id="empty list"),
        pytest.param([""], id="list without names"),
        pytest.param([1], id="number in a list"),
        pytest.param(7, id="number"),
        pytest.param({"n1": True}, id="mapping"),
        pytest.param(["n1\n"[:3] + "\x00"], id="name with a control character"),
        pytest.param("n" * 254, id="name that is too long"),
    ],
)
def test_what_names_no_node_is_refused(written: object) -> None:
    with refuses(InvalidTargets):
        parse_targets(written)


@pytest.mark.parametrize(
    ("found", "failing", "status"),
    [
        pytest.param("n1 n2", "", "success", id="all succeed"),
        pytest.param("n1 n2", "deploy:n2", "failed", id="one fails"),
        pytest.param("n1", "", "failed", id="one is not in the design"),
        pytest.param("", "", "failed", id="none is in the design"),
    ],
)
def test_every_target_must_succeed(found: str, failing: str, status: str) -> None:
    strategy = targeted((NodeName("n1"), NodeName("n2")))
    rollout = Rollout(strategy, {TARGET_GROUP: [NodeName(name) for name in found.split()]})

    play(rollout, fail=failing)

    assert rollout.groups[TARGET_GROUP].value == status
    assert rollout.verdict().value == status


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param("a1 b1 b2 c1", ["a (): a1 None", "b (a): b1 b2 2", "c (b): c1 None"], id="all"),
        pytest.param("a1 c1", ["a (): a1 None", "c (a): c1 None"], id="who depends on an empty group has its parents"),
        pytest.param("b1", ["b (): b1 1"], id="no more can succeed than are left"),
        pytest.param("", [], id="none"),
    ],
)
def test_a_strategy_for_some_nodes_keeps_their_groups(nodes: str, expected: list[str]) -> None:
    entries = [
        group_entry("a"),
        group_entry("b", depends_on=["a"], success_criteria={"minimum_successful_nodes": 2}),
        group_entry("c", depends_on=["b"], critical=True),
    ]
    whole = parse_strategy({"groups": entries})
    members = {group.name: {NodeName(f"{group.name}{number}") for number in (1, 2)} for group in whole.groups}

    strategy = parse_strategy(restricted(whole, members, [NodeName(node) for node in nodes.split()]))

    found = [
        f"{group.name} ({' '.join(group.depends_on)}): {' '.join(sorted(group.selectors[0].node_names))} "
        f"{group.success_criteria.minimum_successful_nodes}"
        for group in strategy.groups
    ]
    assert found == expected
    assert [group.critical for group in strategy.groups] == [group.name == "c" for group in strategy.groups]
