"""Which units wait for which on one class of nodes: tasks of groups, and tasks of no group that order themselves."""

from shipyard_api.domain.task_graph.ordering import order_units
from shipyard_api.domain.task_graph.placement import Placement
from shipyard_api.domain.task_graph.roles import Primaries
from tests.task_graphs import graph, group, task
from tests.task_plans import node
from tests.unit.tables import every_row


@every_row(
    [
        # whether each is in the group x; the units that wait for another one
        (True, True, {}),
        (True, False, {"last": ["x"]}),
        (False, True, {"x": ["first"]}),
        (False, False, {"last": ["first"]}),
    ]
)
def test_edges_inside_a_group_are_those_of_the_graph(first: bool, last: bool, expected: dict[str, list[str]]) -> None:
    def alone(name: str, *, is_grouped: bool, **fields: object) -> dict[str, object]:
        placed = {"groups": ["x"]} if is_grouped else {"version": "2.0.0"}
        return task(name, role=["x"], **placed, **fields)

    tasks = graph(group("x"), alone("first", is_grouped=first), alone("last", is_grouped=last, requires=["first"]))
    before = order_units(Placement(tasks, (node("a", "x"),), Primaries())).before

    waiting = {str(unit[0]): sorted(str(other[0]) for other in earlier) for unit, earlier in before.items()}
    assert {name: earlier for name, earlier in waiting.items() if earlier} == expected
