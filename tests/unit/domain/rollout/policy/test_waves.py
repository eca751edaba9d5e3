"""How waves share nodes out."""

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.budgets import Amount
from shipyard_api.domain.rollout.policy.waves import Course, Wave
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import GroupName
from tests.unit.tables import every_row

NODES = [NodeName(f"n{number}") for number in range(1, 8)]
RACK_2 = (Selector(rack_names=frozenset({"r2"})),)


@every_row(
    {
        "none: all nodes are the rest": ([], ["n1 n2 n3 n4 n5 n6 n7"]),
        "a share is rounded up": ([Wave("c", Amount(1, percent=True))], ["n1", "n2 n3 n4 n5 n6 n7"]),
        "a share is one of all nodes": (
            [Wave("c", Amount(1)), Wave("d", Amount(50, percent=True))],
            ["n1", "n2 n3 n4 n5", "n6 n7"],
        ),
        "selected nodes": ([Wave("c", None, RACK_2)], ["n5 n6", "n1 n2 n3 n4 n7"]),
        "some of the selected nodes": ([Wave("c", Amount(1), RACK_2)], ["n5", "n1 n2 n3 n4 n6 n7"]),
        "too many": ([Wave("c", Amount(9)), Wave("d", Amount(1))], ["n1 n2 n3 n4 n5 n6 n7"]),
    },
)
def test_nodes_are_shared_out_in_order_of_name(waves: list[Wave], shared: list[str]) -> None:
    chosen = {wave.name: frozenset({NodeName("n5"), NodeName("n6")}) for wave in waves if wave.selectors}

    course = Course.of(GroupName("g"), waves, NODES, chosen)

    assert [" ".join(sorted(nodes)) for _, nodes in course.waves] == shared
