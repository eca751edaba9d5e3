"""Which edges of a graph hold on each node by itself, which across nodes, and how many nodes may be at work at once."""

from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.flow import Flow
from shipyard_api.domain.task_graph.roles import Primaries
from tests.task_graphs import group, task
from tests.task_plans import node, planned
from tests.unit.tables import every_row

X, Y, Z, W = (node(name, role) for name, role in (("a", "x"), ("b", "y"), ("c", "z"), ("d", "w")))


def cell(flow: Flow, number: int) -> str:
    found = flow.cells[number]
    return f"{found.task}@{'+'.join(flow.nodes[found.number])}"


def waits(flow: Flow) -> dict[str, list[str]]:
    """Return which tasks on which nodes each task waits for on its nodes, through all points."""

    def of_point(number: int) -> set[int]:
        point = flow.points[number]
        return set(point.cells).union(*map(of_point, point.before))

    found = {}
    for number, one in enumerate(flow.cells):
        earlier = set(one.after).union(*map(of_point, one.points))
        found[cell(flow, number)] = sorted(cell(flow, before) for before in earlier)
    return {name: earlier for name, earlier in found.items() if earlier}


def after(name: str, before: str, **fields: Any) -> dict[str, Any]:
    return task(name, version="2.0.0", **{"cross-depends": [{"name": before}]}, **fields)


SKIPPED = {"condition": "false"}


@every_row(
    {
        "on one node, through a task that is skipped": (
            [
                task("first", role=["x"]),
                task("between", role=["x"], requires=["first"], **SKIPPED),
                task("last", role=["x"], requires=["between"]),
            ],
            {"last@a": ["first@a"]},
        ),
        "on the same node": (
            [
                task("first", role=["x", "y"], version="2.0.0"),
                task("last", role=["y"], **{"cross-depends": [{"name": "first", "role": "self"}]}),
            ],
            {"last@b": ["first@b"]},
        ),
        "on the same node, as the earlier task says": (
            [
                task("first", role=["x", "y"], **{"cross-depended-by": [{"name": "last", "role": "self"}]}),
                task("last", role=["y"], version="2.0.0"),
            ],
            {"last@b": ["first@b"]},
        ),
        "before and after all others, by the stages of the seed": (
            [
                task("last", role=["z"], stage="post_deployment"),
                task("between", role=["y"]),
                task("first", role=["x"], stage="pre_deployment"),
            ],
            {"between@b": ["first@a"], "last@c": ["between@b", "first@a"]},
        ),
        "across nodes": ([task("first", role=["x"]), after("last", "first", role=["y"])], {"last@b": ["first@a"]}),
        "across nodes, by a pattern that a group meets first": (
            [group("x"), task("xy", role=["x"], version="2.0.0"), after("last", "/x.*/", role=["y"])],
            {"last@b": ["xy@a"]},
        ),
        "on a node, for what a skipped task waits for on another": (
            [
                task("first", role=["x"], version="2.0.0"),
                after("between", "first", role=["y"], **SKIPPED),
                task("last", role=["y"], version="2.0.0", requires=["between"]),
            ],
            {"last@b": ["first@a"]},
        ),
        "across nodes, through two that are skipped": (
            [
                task("first", role=["x"], version="2.0.0"),
                after("second", "first", role=["y"], **SKIPPED),
                after("third", "second", role=["z"], **SKIPPED),
                after("last", "third", role=["w"]),
            ],
            {"last@d": ["first@a"]},
        ),
    }
)
def test_a_task_waits(entries: list[dict[str, Any]], expected: dict[str, list[str]]) -> None:
    assert waits(planned(entries, [X, Y, Z, W]).flow) == expected


@every_row([("1.0.0", {"last@b": ["first@a"]}), ("2.0.0", {})])
def test_only_a_task_that_its_group_orders_waits_for_what_its_nodes_do_not_have(
    version: str, expected: dict[str, list[str]]
) -> None:
    first = task("first", role=["x"], groups=["x"])
    last = task("last", role=["y"], groups=["y"], requires=["first"], version=version)
    assert waits(planned([group("x"), group("y"), first, last], [X, Y]).flow) == expected


@every_row(
    {
        "in the order of the document": (["x", "y"], {}, {"last@b": ["first@a"]}),
        "against the order of the document": (["y", "x"], {}, {"last@b": ["first@a"]}),
        "as their groups do": (["y", "x"], {"y": ["x"]}, {"last@b": ["first@a"]}),
        "unless their groups run the other way round": (["x", "y"], {"x": ["y"]}, {"first@a": ["last@b"]}),
    }
)
def test_tasks_of_groups_wait_for_what_their_nodes_do_not_have(
    groups: list[str], requires: dict[str, list[str]], expected: dict[str, list[str]]
) -> None:
    first = task("first", groups=["x"])
    last = task("last", groups=["y"], requires=["first"])
    entries = [*(group(name, requires=requires.get(name, [])) for name in groups), first, last]
    assert waits(planned(entries, [X, Y]).flow) == expected


def test_a_node_does_not_wait_for_itself_where_the_others_wait_for_the_primary() -> None:
    entries = [task("t", role=["/(primary-)?x/"], **{"cross-depends": [{"name": "t", "role": ["primary-x"]}]})]
    made = planned(entries, [X, node("b", "x"), node("c", "x")], primaries=Primaries({"x": NodeName("b")}))
    assert waits(made.flow) == {"t@a+c": ["t@b"]}


TWO = {"type": "parallel", "amount": 2}


@every_row(
    {
        "no strategy": ([task("t", role=["x"], version="2.0.0")], []),
        "a task of its own": ([task("t", role=["x"], version="2.0.0", strategy=TWO)], [(["t@a+b+c"], 2)]),
        "a task that runs nowhere": ([task("t", role=["y"], version="2.0.0", strategy=TWO)], []),
        "a group": ([group("x", "one_by_one"), task("t", groups=["x"])], [(["t@a+b+c"], 1)]),
        "a group, and not a task in it": ([group("x"), task("t", groups=["x"], strategy=TWO)], []),
    }
)
def test_as_many_nodes_are_at_work_at_once(
    entries: list[dict[str, Any]], expected: list[tuple[list[str], int]]
) -> None:
    flow = planned(entries, [node(name, "x") for name in "abc"]).flow
    assert [([cell(flow, number) for number in window.cells], window.most) for window in flow.windows] == expected
