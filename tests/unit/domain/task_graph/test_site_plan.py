"""Which nodes and tasks of a site a run of the software stage has."""

from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.command_run import connect_timeout
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, Primaries
from shipyard_api.domain.task_graph.site_plan import SiteRun, plan_site
from tests.task_graphs import group, stage, task
from tests.unit.tables import every_row

GRAPH = (
    stage("test"),
    group("web"),
    task("one", groups=["web"]),
    task("two", groups=["web"], requires=["one"]),
    task("probe", role="*", stage="test"),
)
NODES = tuple(ClusterNode(NodeName(name), ("web",), ready=name != "n3") for name in ("n1", "n2", "n3"))

RUNS: dict[str, tuple[dict[str, Any], tuple[str, ...] | None, str, str]] = {
    "those of the action": ({}, ("n3", "n1"), "n1 n3", "one two"),
    "those that it names": ({"nodes": ["n3"]}, ("n1",), "n3", "one two"),
    "not the skipped ones": ({"skip": ["two"]}, None, "n1 n2", "one"),
    "tests only": ({"tests": True}, None, "n1 n2", "probe"),
    "none that it deployed": ({}, (), "", ""),
    "a command, and none of the site's tasks": ({"nodes": ["n3", "n1"], "command": "true"}, None, "n1 n3", "command"),
}
REFUSED: dict[str, tuple[dict[str, Any], tuple[dict[str, Any], ...], str]] = {
    "an unknown node": ({"nodes": ["n1", "n9"]}, GRAPH, "The design has no node n9."),
    "an unknown task": ({"tasks": ["three"]}, GRAPH, "'three'"),
    "a command that cannot run": (
        {},
        (*GRAPH, {**task("x", groups=["web"]), "type": "reboot", "parameters": {"timeout": 10**9}}),
        "timeout is 1000000000",
    ),
    "a command that cannot run with the values of the run": (
        {},
        (*GRAPH, {**task("x", groups=["web"]), "parameters": {"cmd": "ls", "cwd": "{DIRECTORY}"}}),
        "Task 'x': cwd is '{DIRECTORY}'; write an absolute path.",
    ),
    "six unknown nodes": ({"nodes": list("abcdef")}, GRAPH, "The design has no node a, b, c, d, e."),
    "a cycle": ({}, (*GRAPH, task("x", requires=["x"])), "x"),
}


def run(
    written: dict[str, Any], graph: tuple[dict[str, Any], ...] = GRAPH, deployed: tuple[str, ...] | None = None
) -> SiteRun:
    names = None if deployed is None else tuple(map(NodeName, deployed))
    return SiteRun(graph, NODES, Primaries(), "new", {}, written, names)


@every_row(RUNS)
def test_a_run_has_these_nodes_and_tasks(
    written: dict[str, Any], deployed: tuple[str, ...] | None, nodes: str, tasks: str
) -> None:
    made = plan_site(run(written, deployed=deployed))

    assert made.plan is not None
    assert (sorted(made.nodes), sorted(made.documents)) == (nodes.split(), tasks.split())


AFTER_THE_MASTER: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "at the same time": ((group("web"), task("make", role="master"), task("copy", role="*")), ""),
    "required": ((task("make", role="master"), task("copy", role="*", requires=["make"])), "copy"),
    "through others and a stage": (
        (
            group("web", requires=["made"]),
            task("make", role="master", required_for=["made"]),
            stage("made"),
            task("copy", groups=["web"]),
            task("use", groups=["web"], requires=["copy"]),
        ),
        "copy use",
    ),
    "on the master and others": (
        (group("web"), task("make", role=["master", "web"]), task("copy", role="*", requires=["make"])),
        "copy",
    ),
    "required, as a task of other nodes is": (
        (
            task("make", role="master", required_for=["made"]),
            task("other", role="*", required_for=["made"]),
            stage("made"),
            task("use", role="*", requires=["made"]),
        ),
        "use",
    ),
    "of other nodes only": (
        (task("make", role="master"), task("other", role="*"), task("use", role="*", requires=["other"])),
        "",
    ),
    "on the master itself": ((task("make", role="master"), task("copy", role="master", requires=["make"])), "copy"),
    "not chosen": ((task("make", role="master", type="skipped"), task("copy", role="*", requires=["make"])), ""),
}


@every_row(AFTER_THE_MASTER)
def test_these_tasks_wait_for_a_task_of_the_master(graph: tuple[dict[str, Any], ...], tasks: str) -> None:
    made = plan_site(run({}, graph))

    assert made.plan is not None, made.findings
    assert made.plan.flow.tasks_after(MASTER) == set(tasks.split())


@every_row(REFUSED)
def test_what_cannot_run_is_no_plan_and_says_why(
    written: dict[str, Any], graph: tuple[dict[str, Any], ...], said: str
) -> None:
    made = plan_site(run(written, graph))

    assert made.plan is None
    assert said in " ".join(finding.message for finding in made.findings)


def test_a_command_runs_on_any_node_at_once_or_on_as_many_as_it_says() -> None:
    nodes = (ClusterNode(NodeName("bare")), *NODES)
    for forks, amount in (({}, None), ({"forks": 2}, 2)):
        written = {"nodes": ["bare", "n1", "n2"], "command": "uptime", **forks}
        made = plan_site(SiteRun((), nodes, Primaries(), "new", {}, written))
        assert made.plan is not None, made.findings
        assert (made.nodes, made.plan.skipped) == ({"bare", "n1", "n2"}, {})
        assert [window.most for window in made.plan.flow.windows] == ([] if amount is None else [amount])
        assert made.documents["command"]["parameters"] == {"cmd": "uptime", "timeout": 3600, "retries": 0}


@every_row([({}, None), ({"connect_timeout": 3}, None), ({"command": "w", "connect_timeout": 3}, 3)])
def test_only_the_nodes_of_a_command_have_seconds_to_take_it(written: dict[str, Any], seconds: int | None) -> None:
    assert connect_timeout(written) == seconds
