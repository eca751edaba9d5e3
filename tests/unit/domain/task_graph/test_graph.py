"""The graph over tasks, groups and stages (contract: fuel-task-graph, 3.1)."""

import pytest

from shipyard_api.domain.task_graph.tasks import TaskId
from tests.task_graphs import SEED_GRAPH, graph, group, real_graph, stage, task


def before(*entries: dict[str, object]) -> dict[str, set[str]]:
    return {name: set(found) for name, found in graph(*entries).before.items() if found}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([task("a", requires=["b"]), task("b")], {"a": {"b"}}, id="requires"),
        pytest.param([task("a", required_for=["b"]), task("b")], {"b": {"a"}}, id="required_for"),
        pytest.param([task("a", groups=["g"]), group("g")], {"g": {"a"}}, id="a task precedes its group"),
        pytest.param([task("a"), group("g", tasks=["a"])], {"g": {"a"}}, id="tasks of a group"),
        pytest.param([task("a", stage="s"), stage("s")], {"s": {"a"}}, id="stage"),
        pytest.param([task("a", stage="post_deployment")], {"post_deployment": {"a"}}, id="stage of the seed"),
        pytest.param([task("a", required_for=["deployment"]), stage("deploy")], {"deploy": {"a"}}, id="deployment"),
        pytest.param([task("a", required_for=["deploy"]), stage("deployment")], {"deployment": {"a"}}, id="deploy"),
        pytest.param(
            [task("a", required_for=["deploy"]), task("b", requires=["deployment"])],
            {"deploy": {"a"}, "b": {"deploy"}},
            id="both",
        ),
        pytest.param([task("a", requires=["/b.*/"]), task("b1"), task("b2")], {"a": {"b1", "b2"}}, id="expression"),
        pytest.param(
            [task("a", requires=["/.*/"]), task("b")], {"a": {"b"}}, id="an expression never means its own task"
        ),
        pytest.param(
            [task("a", groups=["/.*/"]), group("g"), stage("s")], {"g": {"a"}}, id="an expression over groups"
        ),
        pytest.param([task("a", groups=["b"]), task("b")], {}, id="a task is no group"),
    ],
)
def test_each_field_adds_its_edges(entries: list[dict[str, object]], expected: dict[str, set[str]]) -> None:
    assert before(*entries) == expected


@pytest.mark.parametrize(("name", "edges"), [("6.1", 365), ("7.0", 565), ("8.0", 805), ("9.0", 953), ("9.2", 810)])
def test_a_real_graph_has_the_edges_that_fuel_counts(name: str, edges: int) -> None:
    assert sum(map(len, graph(*real_graph(name)).before.values())) == edges


def test_unrelated_tasks_keep_the_order_of_the_document() -> None:
    made = graph(task("z"), task("c", requires=["b"]), task("a"), task("b"))

    assert sorted(made.order, key=made.order.__getitem__) == ["z", "a", "b", "c"]


def test_a_task_is_in_the_groups_that_either_side_names() -> None:
    made = graph(*SEED_GRAPH, task("extra"), group("more", tasks=["extra"]))

    assert made.members[TaskId("extra")] == ("more",)
    assert set(made.members[TaskId("setup_network")]) == {
        "controller",
        "primary-controller",
        "compute",
        "network",
        "cinder",
    }
