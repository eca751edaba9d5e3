"""The graph as DOT (contract: fuel-task-graph, 5.3)."""

from shipyard_api.domain.task_graph.dot import Drawing, check_drawing, dot
from tests.task_graphs import graph, group, stage, task
from tests.unit.tables import every_row

GRAPH = graph(
    stage("deploy"),
    group("primary-controller", required_for=["deploy"]),
    task("hiera", groups=["primary-controller"]),
    {"id": "old", "type": "skipped", "requires": ["hiera"]},
    task('a"b\\', requires=["old"]),
    task("node"),
)


def test_every_kind_is_drawn_in_its_own_way_and_odd_ids_are_quoted() -> None:
    assert dot(GRAPH) == (
        "strict digraph G {\n"
        "deploy [color=red, shape=rect, style=filled];\n"
        '"primary-controller" [color=lightskyblue, shape=box, style="filled, rounded"];\n'
        "hiera [color=yellowgreen, style=filled];\n"
        "old [color=gray95];\n"
        '"a\\"b\\\\" [color=yellowgreen, style=filled];\n'
        '"node" [color=yellowgreen, style=filled];\n'
        '"primary-controller" -> deploy;\n'
        'hiera -> "primary-controller";\n'
        "hiera -> old;\n"
        'old -> "a\\"b\\\\";\n'
        "}\n"
    )


@every_row(
    {
        "parents": (
            Drawing(parents_for="old"),
            ["hiera [color=yellowgreen, style=filled];", "old [color=gray95];", "hiera -> old;"],
        ),
        "chosen tasks only": (
            Drawing(tasks=("hiera",), remove=("group", "stage", "skipped")),
            ["hiera [color=yellowgreen, style=filled];"],
        ),
    },
)
def test_a_part_of_the_graph_can_be_drawn(drawing: Drawing, lines: list[str]) -> None:
    assert dot(GRAPH, drawing).splitlines()[1:-1] == lines


def test_unchosen_tasks_are_drawn_as_skipped() -> None:
    assert "hiera [color=gray95];" in dot(GRAPH, Drawing(tasks=("node",)))


@every_row([Drawing(), Drawing(tasks=("old",), parents_for="node", remove=("group", "skipped"))])
def test_what_is_in_the_graph_can_be_drawn(drawing: Drawing) -> None:
    assert check_drawing(GRAPH, drawing) == ()


def test_what_is_not_in_the_graph_is_refused_in_fuels_words() -> None:
    asked = Drawing(tasks=("hiera", "y", "z"), parents_for="x", remove=("stage", "python"))

    assert [finding.message for finding in check_drawing(GRAPH, asked)] == [
        "Tasks y,z are not present in deployment graph",
        "Task x is not present in graph",
        "Task types python do not exist",
    ]
