"""Which units wait for which on one class of nodes: tasks of groups, and tasks of no group that order themselves."""

from typing import Any

from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.ordering import order_units
from shipyard_api.domain.task_graph.placement import Placement
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries
from tests.task_graphs import graph, group, task
from tests.task_plans import node
from tests.unit.tables import every_row


def waiting(tasks: TaskGraph, *nodes: ClusterNode) -> dict[str, list[str]]:
    before = order_units(Placement(tasks, nodes, Primaries())).before
    found = {str(unit[0]): sorted(str(other[0]) for other in earlier) for unit, earlier in before.items()}
    return {name: earlier for name, earlier in found.items() if earlier}


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
    assert waiting(tasks, node("a", "x")) == expected


def own(name: str, *, role: str = "x", **fields: object) -> dict[str, object]:
    return task(name, role=[role], version="2.0.0", **fields)


@every_row(
    {
        "a group, for a member that orders itself": ([group("x"), own("t", groups=["x"])], {"x": ["t"]}),
        "no group, for a member that it orders": ([group("x"), group("y"), task("t", groups=["x", "y"])], {}),
        "a task, for those of its requirements that its node has": (
            [
                *(own(f"{role}{number}", role=role) for role in "xz" for number in range(8)),
                own("last", requires=[f"{role}{number}" for role in "zx" for number in range(8)]),
            ],
            {"last": [f"x{number}" for number in range(8)]},
        ),
        "a task, for the group of its requirement and for no other one of what comes before": (
            [
                group("x"),
                group("y", requires=["last"]),
                task("first", groups=["x", "y"]),
                task("between", groups=["x"], requires=["first"]),
                own("last", requires=["between"]),
            ],
            {"last": ["x"], "y": ["last"]},
        ),
    }
)
def test_these_units_wait(entries: list[dict[str, Any]], expected: dict[str, list[str]]) -> None:
    assert waiting(graph(*entries), node("a", "x", "y"), node("b", "z")) == expected
