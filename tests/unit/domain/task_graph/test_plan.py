"""Planning a run: nodes, waves, priorities, per-node order, and tasks across nodes (seeds 001 and 002)."""

from collections import Counter
from itertools import pairwise
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import Facts
from shipyard_api.domain.task_graph.layers import Label, Layer
from shipyard_api.domain.task_graph.plan import Batch, Run, SkipReason
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries, choose_primaries
from shipyard_api.domain.task_graph.selection import Selection
from shipyard_api.domain.task_graph.tasks import Domain, TaskId
from tests.task_graphs import (
    ALTERNATIVE,
    MAINTENANCE,
    PUPPET,
    SEED_GRAPH,
    evaluated,
    graph,
    group,
    real_graph,
    stage,
    task,
)
from tests.task_plans import SEED_NODES, attempt, node, nodes_of, order_on, planned, waves_of
from tests.unit.tables import every_row

# --- The examples of seed 001 ---------------------------------------------------------------------------------------


def test_the_worked_example_of_the_seed() -> None:
    made = planned(SEED_GRAPH, SEED_NODES)

    assert waves_of(made) == [["node-1"], ["node-4", "node-2"], ["node-3", "node-5"], ["node-6", "node-7"], ["node-8"]]
    assert [batch.priority for batch in made.batches] == [100, 200, 300, 400, 500]
    assert {run.tasks for batch in made.batches for run in batch.runs} == {("setup_network", "setup_services")}


@every_row(
    {
        "as the seed deploys them": ([2, 3, 4, 5], [["node-2", "node-3"], ["node-4", "node-5"]]),
        "as the seed lists them": ([4, 2, 3, 5], [["node-4", "node-2"], ["node-3", "node-5"]]),
    },
)
def test_the_alternative_model_has_tasks_with_roles_and_strategies_of_their_own(
    controllers: list[int], chunks: list[list[str]]
) -> None:
    nodes = [
        node("node-1", "primary-controller"),
        *(node(f"node-{number}", "controller") for number in controllers),
        node("node-6", "cinder"),
        node("node-7", "ceph-osd"),
        node("node-8", "compute"),
    ]

    made = planned(ALTERNATIVE, nodes)

    assert waves_of(made) == [["node-1"], *chunks, ["node-8", "node-6", "node-7"]]


def test_the_maintenance_example_goes_back_and_forth_between_nodes() -> None:
    made = planned(MAINTENANCE, [node("c1", "primary-controller"), node("n1", "compute"), node("n2", "compute")])

    assert [(run.tasks[0], run.nodes) for batch in made.batches for run in batch.runs] == [
        ("put_compute_into_maintenance_mode", ("c1",)),
        ("migrate_vms_from_compute", ("c1",)),
        ("reinstall_ovs", ("n1", "n2")),
        ("make_compute_available", ("c1",)),
    ]


def test_tasks_of_the_stages_of_the_seed_run_before_and_after_the_deployment() -> None:
    entries = [
        {
            "id": "update_hosts",
            "type": "puppet",
            "role": "*",
            "stage": "post_deployment",
            "requires": ["upload_nodes_info"],
            "parameters": PUPPET,
        },
        task("upload_nodes_info", role="*", stage="post_deployment"),
        *SEED_GRAPH,
        {
            "id": "rsync_puppet",
            "type": "rsync",
            "role": "*",
            "stage": "pre_deployment",
            "parameters": {"src": "/etc/puppet/{VERSION}", "dst": "/etc/puppet/modules"},
        },
        task("prepare", role="*", required_for=["rsync_puppet"]),
    ]

    made = planned(entries, SEED_NODES)

    for name in ("node-1", "node-4", "node-8"):
        assert order_on(made, name) == (
            "prepare",
            "rsync_puppet",
            "setup_network",
            "setup_services",
            "upload_nodes_info",
            "update_hosts",
        )
    first, second, *_, last = made.batches
    assert [sorted(nodes_of(batch)) for batch in (first, second, last)] == [sorted(one.name for one in SEED_NODES)] * 3


# --- The examples of seed 002 ---------------------------------------------------------------------------------------

TAGGED = [
    task("mysql", role=["controller"], tags=["mysql"]),
    task("rabbitmq", role=["controller"], tags=["rabbitmq"]),
    task("haproxy", role=["controller"], tags=["controller-common"]),
    task("globals", role=["/.*/"]),
    task("second", tags=["mysql:2"]),
]


@every_row(
    {
        "all tags of the role": (
            ["mysql", "rabbitmq", "controller-common"],
            {"mysql", "rabbitmq", "haproxy", "globals"},
        ),
        "all removed but rabbitmq": (["rabbitmq"], {"rabbitmq", "globals"}),
        "haproxy is not on a mysql node": (["mysql"], {"mysql", "globals"}),
        "an extension's second node": (["cluster:1", "mysql:2"], {"second", "globals"}),
    },
)
def test_tags_decide_which_tasks_a_node_gets(tags: list[str], tasks: set[str]) -> None:
    made = planned(TAGGED, [node("node-1", "controller", tags=tags)])

    assert set(order_on(made, "node-1")) == tasks


def test_a_group_with_tags_adds_its_tasks_to_the_nodes_with_these_tags() -> None:
    entries = [
        group("db", tags=["mysql"], tasks=["backup", "own", "role"]),
        group("controller"),
        task("role", role=["controller"], requires=["backup"]),
        task("backup", groups=["controller"]),
        task("own", tags=["other"]),
    ]
    nodes = [node("a", "controller"), node("b", tags=["mysql"]), node("c", tags=["other"])]

    made = planned(entries, nodes)

    assert {name: set(order_on(made, name)) for name in "abc"} == {
        "a": {"backup", "role"},
        "b": {"backup", "own", "role"},
        "c": {"own"},
    }


@every_row(
    {
        "without tags, it decides alone": ({"role": ["x"]}, {"role": ["y"]}, "a"),
        "with tags, it adds to the role of the task": ({"tags": ["x"]}, {"role": ["y"]}, "ab"),
        "with tags, it adds to no role that the task does not name": ({"tags": ["x"]}, {}, "a"),
        "with tags, it is a group of the task like others": ({"tags": ["x"]}, {"groups": ["g"], "role": ["y"]}, "a"),
        "with tags, it adds to another group": ({"tags": ["x"]}, {"groups": ["h"], "role": ["z"]}, "ab"),
    }
)
def test_a_group_that_names_a_task_decides_where_it_runs(
    placed: dict[str, Any], fields: dict[str, Any], names: str
) -> None:
    nodes = [node("a", "x", tags=["x"]), node("b", "y"), node("c", "z"), node("d", "t")]

    made = planned([group("g", tasks=["t"], **placed), group("h", role=["y"]), task("t", **fields)], nodes)

    assert sorted(name for nodes in waves_of(made) for name in nodes) == list(names)


def test_a_tagged_task_runs_with_its_group_where_the_node_is_in_it_and_by_itself_elsewhere() -> None:
    entries = [
        group("controller", "one_by_one"),
        task("hiera", role=["/.*/"], required_for=["keystone"]),
        task("keystone", groups=["controller"], tags=["keystone"]),
        task("done", groups=["controller"], requires=["keystone"]),
    ]
    nodes = [node("a", "controller", tags=["keystone"]), node("b", "controller"), node("c", "x", tags=["keystone"])]

    made = planned(entries, nodes)

    assert [order_on(made, name) for name in "abc"] == [
        ("hiera", "keystone", "done"),
        ("hiera", "done"),
        ("hiera", "keystone"),
    ]


def test_a_role_that_the_graph_does_not_know_runs_the_tasks_that_its_metadata_want() -> None:
    entries = [
        group("controller", "one_by_one"),
        task("hiera", role=["compute"], required_for=["keystone"]),
        task("keystone", groups=["controller"]),
        task("agent", role=["compute"], requires=["keystone"]),
        {**task("twice", tags=["x"]), "wanted_by": ["forged"]},
    ]
    roles = {"late": Label({"tasks": ["agent", "keystone", "nowhere"]}), "later": Label({"tasks": ["agent", "hiera"]})}
    documents = Layer(tuple(entries), roles).tasks_of_run()
    nodes = [node("a", "controller"), node("b", "late"), node("c", "late", "later"), node("d", "forged")]

    made = planned([dict(entry) for entry in documents], nodes, primaries=Primaries({"late": NodeName("b")}))

    assert [order_on(made, name) for name in "abcd"] == [
        ("keystone",),
        ("keystone", "agent"),
        ("hiera", "keystone", "agent"),
        (),
    ]


# --- Waves and priorities (contract, 3.3) ---------------------------------------------------------------------------

A, B = node("a", "x"), node("b", "x")


@every_row(
    {
        "parallel": ([group("x")], [A, B], [["a", "b"]]),
        "groups with an amount are not run at the same time": (
            [group("x", amount=1), group("y", amount=1)],
            [A, node("c", "y"), B],
            [["a"], ["b"], ["c"]],
        ),
        "one by one, then amounts, then the rest": (
            [group("x"), group("y", amount=2), group("z", "one_by_one")],
            [A, node("c", "y"), node("d", "z"), node("e", "z")],
            [["d"], ["e"], ["c"], ["a"]],
        ),
        "a node of two groups is moved to a further priority": (
            [group("x"), group("y")],
            [node("a", "x", "y"), node("b", "y")],
            [["a", "b"], ["a"]],
        ),
        "a task between groups": (
            [group("x", required_for=["t"]), task("t", role=["t"], required_for=["y"]), group("y")],
            [node("c", "y"), node("t", "t"), A],
            [["a"], ["t"], ["c"]],
        ),
        "a task on its nodes in their order": (
            [
                task("s", role=["y"], version="2.0.0"),
                task("t", role=["x", "y"], **{"cross-depends": [{"name": "s", "role": ["y"]}]}),
            ],
            [A, node("c", "y")],
            [["c"], ["a", "c"]],
        ),
        "chunks over several roles": (
            [group("x", role=["x", "y"], amount=2)],
            [A, node("c", "y"), B],
            [["a", "c"], ["b"]],
        ),
        "a group of every node": ([group("x", role="*")], [A, node("c", "y"), node("d")], [["a", "c"]]),
    },
)
def test_groups_are_deployed_in_waves(
    groups: list[dict[str, Any]], nodes: list[ClusterNode], expected: list[list[str]]
) -> None:
    each = [task(f"in-{one['id']}", groups=[one["id"]]) for one in groups if one["type"] == "group"]

    made = planned([*groups, *each], nodes)

    assert waves_of(made) == expected
    assert [batch.priority for batch in made.batches] == [100 * (number + 1) for number in range(len(expected))]


def test_a_task_of_two_groups_of_a_node_runs_once_and_after_what_it_depends_on() -> None:
    entries = [
        group("x"),
        group("y", requires=["x"]),
        task("hiera", groups=["x", "y"]),
        task("only-y", groups=["y"], requires=["hiera"]),
        task("late", groups=["x", "y"], requires=["only-y"]),
    ]

    made = planned(entries, [node("a", "x", "y")])

    assert [(run.unit, run.tasks) for batch in made.batches for run in batch.runs] == [
        ("x", ("hiera",)),
        ("y", ("only-y", "late")),
    ]


@every_row(
    {
        "the first of two alike": ((), (), "x"),
        "one with an amount before one without": ((), ("parallel", 1), "y"),
        "the first of two with an amount": (("parallel", 2), ("parallel", 1), "x"),
        "one by one before an amount": (("parallel", 1), ("one_by_one",), "y"),
        "one by one before all at once": ((), ("one_by_one",), "y"),
        "one by one already first": (("one_by_one",), ("parallel", 1), "x"),
    }
)
def test_a_task_of_two_groups_runs_in_the_one_that_is_deployed_first(
    first: tuple[Any, ...], second: tuple[Any, ...], unit: str
) -> None:
    made = planned([group("x", *first), group("y", *second), task("t", groups=["x", "y"])], [node("a", "x", "y")])

    assert made.batches == (Batch(100, 0, (Run(TaskId(unit), (NodeName("a"),), (TaskId("t"),)),)),)


def test_groups_that_order_each_other_both_ways_on_one_node_are_refused() -> None:
    entries = [
        group("x"),
        group("y", requires=["x"]),
        task("a", groups=["x"], requires=["b"]),
        task("b", groups=["y"]),
    ]

    made, findings = attempt(entries, [node("n", "x", "y")])

    assert made is None
    assert [finding.message for finding in findings] == [
        "With these nodes, tasks wait for each other: group x -> group y -> group x."
    ]


def test_a_task_whose_groups_all_come_too_early_is_refused_with_its_node() -> None:
    entries = [
        group("x"),
        group("y", requires=["x"]),
        group("z", requires=["y"]),
        task("first", groups=["y", "z"]),
        task("second", groups=["x", "z"], requires=["first"]),
        task("third", groups=["x", "y"], requires=["second"]),
    ]

    made, (finding,) = attempt(entries, [node("n", "x", "y", "z")])

    assert made is None
    assert finding.name == "TaskOrderConflict"
    assert finding.message == "On node n, task 'third' of x, y depends on tasks of a later group."


# --- Tasks across nodes (contract, 3.5) -------------------------------------------------------------------------------

THREE = [node("a", "x"), node("b", "x", "y", tags=["t"]), node("c", "y")]


def runs(entries: list[dict[str, Any]], nodes: list[ClusterNode], **options: Any) -> list[list[tuple[str, list[str]]]]:
    """Return (task, nodes) of each batch."""
    made = planned(entries, nodes, **options)
    found = []
    for batch in made.batches:
        together: dict[str, list[str]] = {}
        for run in batch.runs:
            together.setdefault("+".join(run.tasks), []).extend(run.nodes)
        found.append([(name, sorted(names)) for name, names in sorted(together.items())])
    return found


@every_row(
    {
        "no relation": ({}, [[("after", ["c"]), ("first", ["a", "b"])], [("after", ["b"])]]),
        "every node": ({"name": "first"}, [[("first", ["a", "b"])], [("after", ["b", "c"])]]),
        "a role": ({"name": "first", "role": ["y"]}, [[("first", ["a", "b"])], [("after", ["b", "c"])]]),
        "a stage": ({"name": "s", "role": None}, [[("first", ["a", "b"])], [("after", ["b", "c"])]]),
    },
)
def test_a_task_waits_for_a_task_on_other_nodes(
    relation: dict[str, Any], expected: list[list[tuple[str, list[str]]]]
) -> None:
    entries = [
        task("first", role=["x"], version="2.0.0", required_for=["s"]),
        stage("s"),
        task("after", role=["y"], version="2.0.0", **({"cross-depends": [relation]} if relation else {})),
    ]

    assert runs(entries, THREE) == expected


def test_the_reverse_relation_says_the_same() -> None:
    entries = [
        task("first", role=["x"], **{"cross-depended-by": [{"name": "after", "role": ["y"]}]}),
        task("after", role=["y"], version="2.0.0"),
    ]

    assert runs(entries, THREE) == [[("first", ["a", "b"])], [("after", ["b", "c"])]]


def test_one_node_is_enough_where_the_policy_is_any() -> None:
    nodes = [node("a", "x", "w"), node("b", "x"), node("c", "y")]
    entries = [
        task("slow", role=["w"], version="2.0.0", required_for=["first"]),
        task("first", role=["x"], version="2.0.0"),
        task("after", role=["y"], **{"cross-depends": [{"name": "first", "policy": "any"}]}),
    ]

    # The first node of the set in the order given: b is ready one wave before a.
    assert runs(entries, nodes)[1:] == [[("first", ["a"])], [("after", ["c"])]]
    assert runs(entries, nodes[::-1])[1:] == [[("after", ["c"]), ("first", ["a"])]]


def test_the_others_wait_for_the_primary_of_their_own_task() -> None:
    entries = [task("t", role=["/(primary-)?x/"], **{"cross-depends": [{"name": "t", "role": ["primary-x"]}]})]

    made = planned(entries, [A, B, node("c", "x")], primaries=Primaries({"x": NodeName("b")}))

    assert waves_of(made) == [["b"], ["a", "c"]]


def test_a_task_of_version_2_is_ordered_by_itself_and_not_with_its_group() -> None:
    entries = [
        group("x", "one_by_one"),
        group("y", requires=["x"]),
        task("t", groups=["x", "y"], version="2.0.0", strategy={"type": "parallel", "amount": 2}),
    ]

    assert waves_of(planned(entries, [node("a", "x"), node("b", "y"), node("c", "x")])) == [["a", "c"], ["b"]]


@every_row(
    {
        "two tasks of different nodes": (
            [
                task("p", role=["x"], **{"cross-depends": [{"name": "q"}]}),
                task("q", role=["y"], **{"cross-depends": [{"name": "p"}]}),
            ],
            "p on a",
        ),
        "a task of two nodes, and one of one": (
            [
                task("p", role=["x"], **{"cross-depends": [{"name": "q", "role": ["master"]}]}),
                task("q", role="master", **{"cross-depends": [{"name": "p"}]}),
            ],
            "With these nodes, tasks wait for each other: p on a and 1 more -> q on master -> p on a and 1 more.",
        ),
        "a task on all its nodes": (
            [task("p", role=["x"], **{"cross-depends": [{"name": "p"}]})],
            "'p' waits for itself on other nodes",
        ),
        "a later group": (
            [
                group("x"),
                group("y", requires=["x"]),
                task("p", groups=["x"], **{"cross-depends": [{"name": "q"}]}, required_for=["r"]),
                task("r", groups=["x"]),
                task("q", groups=["y"]),
            ],
            "group x -> group y -> p on",
        ),
    },
)
def test_tasks_that_wait_for_each_other_across_nodes_are_refused(entries: list[dict[str, Any]], words: str) -> None:
    made, findings = attempt(entries, THREE)

    assert made is None
    assert {finding.name for finding in findings} == {"TaskOrderCycle"}
    assert words in " ".join(finding.message for finding in findings)


# --- What does not run ------------------------------------------------------------------------------------------------


def test_what_does_not_run_still_orders_the_others() -> None:
    entries = [
        task("a", role="*"),
        task("b", role="*", requires=["a"], condition="settings:b == true"),
        task("f", role="*", required_for=["a"], condition="settings:misspelt == true or settings:b == true"),
        task("g", role="*", condition={"yaql_exp": "$"}),
        task("h", role="*", **{"cross-depends": {"yaql_exp": "$"}}),
        {"id": "c", "type": "skipped", "role": "*", "requires": ["b"]},
        task("d", role="*", requires=["c"]),
        task("e", role=["nobody"], requires=["d"]),
    ]
    nodes = [A, B]

    made, findings = attempt(entries, nodes, facts=Facts({"settings": {"b": False}}))
    assert order_on(made, "a") == ("a", "d")
    assert made.skipped == {
        "b": SkipReason.CONDITION,
        "c": SkipReason.TYPE,
        "e": SkipReason.NO_NODE,
        "f": SkipReason.SETTING,
        **dict.fromkeys("gh", SkipReason.COMPUTED),
    }
    (finding,) = findings
    assert (finding.name, "settings:misspelt (task f)" in finding.message) == ("UnknownSetting", True)
    assert [batch.wave for batch in made.batches] == [0, 1]

    settings = Facts({"settings": {"b": True}})
    made = planned(entries, nodes, facts=settings, selection=Selection(skip=("a",)))
    assert order_on(made, "b") == ("b", "d")
    assert made.skipped[graph(*entries).tasks["a"].id] is SkipReason.NOT_SELECTED  # type: ignore[index]  # a plain name


def test_a_condition_without_a_result_is_refused_with_its_task() -> None:
    made, (finding,) = attempt([task("a", role="*", condition="1 in 2")], [A])

    assert made is None
    assert finding.name == "ConditionFailed"
    assert "'a'" in finding.message


def test_nodes_on_which_nothing_runs_are_named() -> None:
    made, (finding,) = attempt([task("x")], [A, node("c", "y"), node("d")])

    assert made is not None
    assert finding.message == "No task runs on 2 node(s) of the run: c, d (it has no role)."


@every_row([(1, "", ""), (10, "", ""), (11, " and 1 more", ", …"), (12, " and 2 more", ", …")])
def test_ten_settings_and_ten_nodes_are_named(number: int, more_settings: str, more_nodes: str) -> None:
    entries = [task(f"t{one}", condition=f"settings:s{one} == true") for one in range(number)]

    made, (idle, unknown) = attempt(entries, [node(f"n{one}", "x") for one in range(number)])

    assert made is not None
    nodes = ", ".join(f"n{one}" for one in range(min(number, 10)))
    assert idle.message == f"No task runs on {number} node(s) of the run: {nodes}{more_nodes}."
    settings = ", ".join(f"settings:s{one} (task t{one})" for one in range(min(number, 10)))
    assert f"Conditions read what the cluster does not have: {settings}{more_settings}. Tasks" in unknown.message


def test_a_plan_that_would_take_too_long_is_refused() -> None:
    entries = [task(f"t{number}", role="*", requires=["/t.*/"] if number == 399 else []) for number in range(400)]
    entries += [task(f"s{number}", tags=[f"tag{number}"]) for number in range(400)]
    entries += [task(f"u{number}", role="*", requires=["/t.*/"]) for number in range(20)]
    nodes = [node(f"n{number}", tags=[f"tag{number}"]) for number in range(400)]

    made, (finding,) = attempt(entries, nodes)

    assert made is None
    assert finding.name == "PlanTooLarge"


def test_tasks_of_the_master_run_beside_shipyard_and_no_node_has_its_name() -> None:
    entries = [task("a", role="master"), task("b", role=["master", "x"], requires=["a"])]

    assert waves_of(planned(entries, [A])) == [["master"], ["master", "a"]]
    _, (finding,) = attempt(entries, [node("master", "x")])
    assert finding.name == "ReservedNodeName"


def test_without_a_selector_a_task_runs_on_the_role_of_its_name() -> None:
    assert waves_of(planned([task("x"), task("y"), task("z", tags=[])], [A])) == [["a"]]


# --- Real graphs ------------------------------------------------------------------------------------------------------

HA = ("controller", "mongo")
DETACHED = ("rabbitmq", "database", "keystone", "neutron")


def site(number: int) -> tuple[list[ClusterNode], Primaries]:
    """Return nodes with the roles of Fuel, each role with a tag of its name, and the controllers with four more."""
    others = ("compute", "ceph-osd", "cinder", "mongo", "ironic")
    nodes = []
    for index in range(number):
        roles = ("controller",) if index < 3 else (others[index % 5], *(("cinder",) if index % 7 == 0 else ()))
        tags = (*roles, *(DETACHED if index < 3 else ()))
        nodes.append(node(f"n{index:03}", *dict.fromkeys(roles), tags=tuple(dict.fromkeys(tags))))
    return nodes, Primaries(
        choose_primaries(nodes, Domain.ROLES, HA, {}), choose_primaries(nodes, Domain.TAGS, (*HA, *DETACHED), {})
    )


@every_row(["6.1", "9.2"])
def test_a_real_graph_is_planned_with_every_task_once_on_a_node_and_after_its_requirements(name: str) -> None:
    entries = evaluated(real_graph(name))
    nodes, primaries = site(40)
    requires: dict[str, set[str]] = {entry["id"]: set(entry.get("requires", [])) for entry in entries}
    for entry in entries:
        for later in entry.get("required_for", []):
            requires[later].add(entry["id"])

    made = planned(entries, nodes, primaries=primaries)

    assert len(made.batches) > 20
    for batch in made.batches:
        assert max(Counter(nodes_of(batch)).values()) == 1
    for one in nodes:
        order = order_on(made, one.name)
        assert len(order) == len(set(order)) >= 8
        for position, later in enumerate(order):
            assert requires[later].isdisjoint(order[position + 1 :])
    assert all(before.wave <= after.wave for before, after in pairwise(made.batches))
