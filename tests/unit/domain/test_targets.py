"""The nodes of a targeted action (contract: shipyard-actions, chapters 3, 8.1 and 13)."""

from shipyard_api.domain.errors import InvalidTargets
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import parse_strategy
from shipyard_api.domain.targets import TARGET_GROUP, parse_targets, restricted, targeted
from tests.factories import group_entry, play
from tests.refusals import refuses
from tests.unit.tables import every_row


@every_row(
    {
        "text": "n1,n2",
        "text with empty parts": "n1,,n2,",
        "list, the form of the manual": ["n1", "n2"],
        "list with an empty part and a name twice": ["n1", "", "n2", "n1"],
    },
)
def test_targets_are_a_list_or_a_text_with_commas(written: object) -> None:
    assert parse_targets(written) == ("n1", "n2")


@every_row(
    {
        "missing": None,
        "empty text": "",
        "empty list": [],
        "mapping": {"n1": True},
        "name with a control character": ["n1\n"[:3] + "\x00"],
        "name that is too long": "n" * 254,
    },
)
def test_what_names_no_node_is_refused(written: object) -> None:
    with refuses(InvalidTargets):
        parse_targets(written)


@every_row(
    {
        "all succeed": ("n1 n2", "", "success"),
        "one fails": ("n1 n2", "deploy:n2", "failed"),
        "one is not in the design": ("n1", "", "failed"),
        "none is in the design": ("", "", "failed"),
    },
)
def test_every_target_must_succeed(found: str, failing: str, status: str) -> None:
    strategy = targeted((NodeName("n1"), NodeName("n2")))
    rollout = Rollout(strategy, {TARGET_GROUP: [NodeName(name) for name in found.split()]})

    play(rollout, fail=failing)

    assert rollout.groups[TARGET_GROUP].value == status
    assert rollout.verdict().value == status


@every_row(
    {
        "all": ("a1 b1 b2 c1", ["a (): a1 None", "b (a): b1 b2 2", "c (b): c1 None"]),
        "who depends on an empty group has its parents": ("a1 c1", ["a (): a1 None", "c (a): c1 None"]),
        "no more can succeed than are left": ("b1", ["b (): b1 1"]),
        "none": ("", []),
    },
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
