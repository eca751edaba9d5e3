"""The graph over tasks, groups and stages (contract: fuel-task-graph, 3.1)."""

from shipyard_api.domain.task_graph.tasks import TaskId
from tests.task_graphs import SEED_GRAPH, graph, group, real_graph, stage, task
from tests.unit.tables import every_row


def before(*entries: dict[str, object]) -> dict[str, set[str]]:
    return {name: set(found) for name, found in graph(*entries).before.items() if found}


@every_row(
    {
        "requires": ([task("a", requires=["b"]), task("b")], {"a": {"b"}}),
        "required_for": ([task("a", required_for=["b"]), task("b")], {"b": {"a"}}),
        "a task precedes its group": ([task("a", groups=["g"]), group("g")], {"g": {"a"}}),
        "tasks of a group": ([task("a"), group("g", tasks=["a"])], {"g": {"a"}}),
        "stage of the seed": ([task("a", stage="post_deployment")], {"post_deployment": {"a"}}),
        "deployment": ([task("a", required_for=["deployment"]), stage("deploy")], {"deploy": {"a"}}),
        "both": (
            [task("a", required_for=["deploy"]), task("b", requires=["deployment"])],
            {"deploy": {"a"}, "b": {"deploy"}},
        ),
        "an expression never means its own task": ([task("a", requires=["/.*/"]), task("b")], {"a": {"b"}}),
        "nor as what waits": ([task("a", required_for=["/.*/"]), task("b")], {"b": {"a"}}),
        "an expression over groups": ([task("a", groups=["/.*/"]), group("g"), stage("s")], {"g": {"a"}}),
        "a task is no group": ([task("a", groups=["b"]), task("b")], {}),
    },
)
def test_each_field_adds_its_edges(entries: list[dict[str, object]], expected: dict[str, set[str]]) -> None:
    assert before(*entries) == expected


def test_a_stage_that_is_only_named_is_like_a_declared_one() -> None:
    named, declared = graph(task("a", requires=["deploy"])), graph(stage("deploy"), task("a", requires=["deploy"]))

    assert named.tasks == declared.tasks


@every_row([("6.1", 365), ("7.0", 565), ("8.0", 805), ("9.0", 953), ("9.2", 810)])
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
