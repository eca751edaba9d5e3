"""When a node is late: by its hardware profile, else by all nodes, and never without a known duration."""

from itertools import product

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.lateness import ANY, Lateness, Usual
from tests.unit.tables import every_row

OLD, NEW, BARE = NodeName("old1"), NodeName("new1"), NodeName("bare1")
MODELS = {OLD: "gen8", NEW: "gen11"}


@every_row(
    {
        "nothing is known": ({}, 1e9, {}),
        "not yet": ({Phase.DEPLOY: {ANY: 100}}, 100, {}),
        "all by the same": ({Phase.DEPLOY: {ANY: 100}}, 101, {OLD: 100, NEW: 100, BARE: 100}),
        "a slow profile": ({Phase.DEPLOY: {ANY: 100, "gen8": 300}}, 101, {NEW: 100, BARE: 100}),
        "a fast profile": ({Phase.DEPLOY: {ANY: 100, "gen11": 50}}, 60, {NEW: 50}),
    },
)
def test_a_node_is_late_after_the_usual_duration(usual: Usual, seconds: float, late: dict[NodeName, float]) -> None:
    assert Lateness(usual, MODELS).late(Phase.DEPLOY, (OLD, NEW, BARE), seconds) == late


@every_row([{}, {ANY: 50}, {"gen8": 70}, {ANY: 50, "gen8": 70, "gen11": 30}])
def test_a_late_node_stays_late_and_nodes_do_not_depend_on_each_other(usual: dict[str, float]) -> None:
    rule = Lateness({Phase.PREPARE: usual}, MODELS)
    for seconds, node in product(range(0, 100, 5), (OLD, NEW, BARE)):
        alone = rule.late(Phase.PREPARE, [node], seconds)
        assert alone == {
            one: at for one, at in rule.late(Phase.PREPARE, MODELS.keys() | {node}, seconds).items() if one == node
        }
        assert alone.keys() <= rule.late(Phase.PREPARE, [node], seconds + 5).keys()
        # The oracle: the profile's own duration, else that of all nodes, is over.
        limit = usual.get(MODELS.get(node, ANY), usual.get(ANY, float("inf")))
        assert bool(alone) == (seconds > limit)
