"""The order in which groups would run, from the rollout itself."""

from typing import Any

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import Assumptions, PhaseAssumption
from shipyard_api.domain.rollout.moves import SERIAL, Mode
from shipyard_api.domain.rollout.planning import PlannedGroup, plan_groups
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName
from tests.factories import group, strategy
from tests.unit.tables import every_row


def plan(
    *groups: DeploymentGroup, members: dict[str, str], mode: Mode = SERIAL, kept: str = ""
) -> tuple[PlannedGroup, ...]:
    """Nodes are letters: a group of ``ab`` holds the nodes a and b."""
    held = {GroupName(name): frozenset(map(NodeName, nodes)) for name, nodes in members.items()}
    return plan_groups(strategy(*groups), held, mode, [NodeName(node) for node in kept])


def told(planned: tuple[PlannedGroup, ...]) -> list[tuple[Any, ...]]:
    return [(one.group.name, one.order, "".join(one.members), "".join(one.sends), one.can_succeed) for one in planned]


CHAIN = (group("last", after=["mid"]), group("mid", after=["first"]), group("first"), group("free"))
HELD = {"first": "a", "mid": "b", "last": "c", "free": "d"}


def test_groups_come_in_the_order_in_which_they_begin() -> None:
    assert told(plan(*CHAIN, members=HELD)) == [
        ("first", 1, "a", "a", True),
        ("mid", 2, "b", "b", True),
        ("last", 3, "c", "c", True),
        ("free", 4, "d", "d", True),
    ]


def lengths(prepare: float = 1, deploy: float = 1, **groups: float) -> Assumptions:
    """Return assumptions with the usual length of both phases, and of the deployments of some groups."""
    own = {GroupName(name): [seconds] for name, seconds in groups.items()}
    usual = [deploy / 2, deploy, 99]
    return {Phase.PREPARE: PhaseAssumption(0.5, [prepare]), Phase.DEPLOY: PhaseAssumption(0.5, usual, own)}


@every_row(
    {
        "the first group is slow": (Mode(2), lengths(a=5), "a b d c"),
        "the second group is quicker than usual": (Mode(2), lengths(deploy=5, b=3), "a b d c"),
        "deployed as prepared": (Mode(2, deploy_as_prepared=True), lengths(a=5), "a b d c"),
        "few nodes in flight": (Mode(2, max_nodes_in_flight=2), lengths(a=5), "a b d c"),
        "one after another": (SERIAL, lengths(a=5), "a b c d"),
    },
)
def test_usual_lengths_decide_which_group_begins_next(mode: Mode, assumed: Assumptions, order: str) -> None:
    groups = (group("c", after=["a"]), group("d", after=["b"]), group("a"), group("b"))
    held = {GroupName(name): frozenset([NodeName(name)]) for name in "abcd"}

    found = plan_groups(strategy(*groups), held, mode, assumptions=assumed)

    assert " ".join(one.group.name for one in found) == (order if mode != SERIAL else "a c b d")


def test_nodes_that_are_kept_are_not_sent_and_count_as_deployed() -> None:
    found = plan(group("a", minimum=2), group("b", after=["a"]), members={"a": "xy", "b": "z"}, kept="xyq")

    assert told(found) == [("a", 1, "xy", "", True), ("b", 2, "z", "z", True)]


def test_a_group_that_cannot_succeed_keeps_those_that_wait_for_it_from_beginning() -> None:
    found = plan(
        group("later", after=["later too"]),
        group("later too", after=["short"]),
        group("short", minimum=2),
        group("other"),
        members={"short": "a", "other": "b", "later": "c", "later too": "d"},
    )

    assert told(found) == [
        ("short", 1, "a", "a", False),
        ("other", 2, "b", "b", True),
        ("later", None, "c", "", False),
        ("later too", None, "d", "", False),
    ]
