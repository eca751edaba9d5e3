"""From roles and tags to nodes: primaries, selectors, and the tags of a role (contract: fuel-task-graph, 2)."""

from collections.abc import Mapping
from typing import Any

import pytest

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import is_true, parse_condition
from shipyard_api.domain.task_graph.graph import TooMuchMatching
from shipyard_api.domain.task_graph.patterns import compile_pattern
from shipyard_api.domain.task_graph.roles import (
    Classes,
    Primaries,
    choose_primaries,
    effective_names,
    facts_of,
    tags_after_role_change,
)
from shipyard_api.domain.task_graph.tasks import Domain, Selector
from tests.task_plans import node
from tests.unit.tables import every_row

NODES = [
    node("n1", "controller", tags=["mysql"]),
    node("n2", "controller", "ceph-osd", tags=["mysql", "mysql:2"]),
    node("n3", "compute"),
    node("n4"),
]
PRIMARIES = Primaries({"controller": NodeName("n1")}, {"mysql": NodeName("n2")})


def selected(selector: Selector) -> list[str]:
    found = Classes([selector], NODES, PRIMARIES)
    return [name for number in range(len(found.classes)) for name in found.classes[number].nodes]


@every_row(
    {
        "primary-x replaces x": (Domain.ROLES, ["controller"], ["n2"]),
        "the primary": (Domain.ROLES, ["primary-controller"], ["n1"]),
        "an expression": (Domain.ROLES, ["/^(primary-)?controller$/"], ["n1", "n2"]),
        "an expression matches from the start": (Domain.ROLES, ["/c/"], ["n2", "n3"]),
        "every node with a role": (Domain.ROLES, ["/.*/"], ["n1", "n2", "n3"]),
        "a lone asterisk in a list is a name": (Domain.ROLES, ["*"], []),
        "no name, no node": (Domain.ROLES, [], []),
        "the pseudo node": (Domain.ROLES, ["master"], ["master"]),
        "a tag": (Domain.TAGS, ["mysql"], ["n1"]),
        "the primary of a tag": (Domain.TAGS, ["primary-mysql"], ["n2"]),
        "an instance tag": (Domain.TAGS, ["mysql:2"], ["n2"]),
    },
)
def test_a_selector_takes_the_nodes_with_its_names(domain: Domain, names: list[str], nodes: list[str]) -> None:
    assert selected(Selector(domain, tuple(names))) == nodes


def test_every_node_is_every_node_with_a_role_or_a_tag() -> None:
    assert selected(Selector(Domain.ROLES, every=True)) == ["n1", "n2", "n3"]


def test_a_node_with_the_role_master_is_not_the_pseudo_node_and_a_role_may_look_like_an_expression() -> None:
    nodes = [node("a", "master"), node("b", "/c/")]

    for name, expected in (("master", [("master",)]), ("/c/", [])):
        found = Classes([Selector(Domain.ROLES, (name,))], nodes, Primaries())
        assert [one.nodes for one in found.classes] == expected


def test_nodes_that_no_selector_tells_apart_are_one_class() -> None:
    nodes = [node(f"n{number}", "compute", tags=[f"instance:{number}"]) for number in range(100)]

    found = Classes([Selector(Domain.ROLES, ("compute",)), Selector(Domain.TAGS, ("instance:7",))], nodes, Primaries())

    assert [len(one.nodes) for one in found.classes] == [99, 1]


@every_row({"alone": ("a", 0, ["a"]), "one of two": ("ab", 1, ["b", "a"]), "one of three": ("bac", 1, ["bc", "a"])})
def test_a_node_gets_a_class_of_its_own_beside_that_of_the_others(names: str, number: int, expected: list[str]) -> None:
    found = Classes([Selector(Domain.ROLES, ("x",))], [node(name, "x") for name in names], Primaries())

    assert found.split(0, NodeName("a")) == number
    assert [("".join(one.nodes), one.selected) for one in found.classes] == [(one, 1) for one in expected]


def test_expressions_may_take_just_so_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    selectors, nodes = [Selector(Domain.ROLES, ("/x+y?/",))], [node("a", "xxx"), node("b", "yy", "xxx")]
    work = sum(compile_pattern("/x+y?/").match(name)[1] for name in ("xxx", "yy"))
    limit = "shipyard_api.domain.task_graph.roles.MOST_MATCHING"

    monkeypatch.setattr(limit, work)
    assert len(Classes(selectors, nodes, Primaries()).classes) == 1
    monkeypatch.setattr(limit, work - 1)
    with pytest.raises(TooMuchMatching):
        Classes(selectors, nodes, Primaries())


@every_row(
    {
        "the first node": ([{}, {}], None, "n0"),
        "a ready node first": ([{}, {"ready": True}], None, "n1"),
        "a primary stays although another is ready": ([{"ready": True}, {}], "n1", "n1"),
        "a primary that leaves does not stay": ([{}, {"leaving": True}], "n1", "n0"),
        "a node that leaves is not chosen": ([{"leaving": True}, {}], None, "n1"),
        "nobody left": ([{"leaving": True}], None, None),
    },
)
def test_a_role_has_one_primary(nodes: list[dict[str, Any]], current: str | None, primary: str | None) -> None:
    cluster = [node(f"n{number}", "x", **fields) for number, fields in enumerate(nodes)]
    known = {"x": NodeName(current)} if current else {}

    assert choose_primaries(cluster, Domain.ROLES, ["x"], known) == ({"x": primary} if primary else {})


def test_a_primary_that_loses_the_role_passes_it_on() -> None:
    cluster = [node("a", "y"), node("b", "x", "y")]

    assert choose_primaries(cluster, Domain.ROLES, ["x", "y", "z"], {"x": NodeName("a")}) == {"x": "b", "y": "a"}


def test_roles_and_tags_have_primaries_of_their_own() -> None:
    cluster = [node("a", "controller"), node("b", "controller", tags=["mysql"])]
    made = Primaries(
        choose_primaries(cluster, Domain.ROLES, ["controller"], {}),
        choose_primaries(cluster, Domain.TAGS, ["mysql"], {}),
    )

    assert effective_names(cluster[0], Domain.ROLES, made) == ("primary-controller",)
    assert effective_names(cluster[1], Domain.ROLES, made) == ("controller",)
    assert effective_names(cluster[1], Domain.TAGS, made) == ("primary-mysql",)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("api.role_in_deployment('ceph-osd')", False),
        ("api.role_in_cluster('ceph-osd')", True),
        ("api.role_in_deployment('compute')", True),
        ("api.nodes_count() == 2", True),
        ("api.cluster_status == 'new' and cluster:net == 'neutron'", True),
    ],
)
def test_conditions_ask_about_the_cluster_and_about_the_nodes_of_the_run(condition: str, *, holds: bool) -> None:
    facts = facts_of(NODES, NODES[2:], status="new", models={"cluster": {"net": "neutron"}})

    assert is_true(parse_condition(condition), facts) is holds


TAGS_OF: Mapping[str, list[str]] = {"controller": ["mysql", "rabbitmq"], "db": ["mysql"], "compute": ["nova"]}


@every_row(
    {
        "a role brings its tags": ([], [], [], ["controller"], ["mysql", "rabbitmq"]),
        "and takes them away": (["controller"], ["mysql", "rabbitmq"], [], [], []),
        "unless another role gives them": (["controller", "db"], ["mysql", "rabbitmq"], [], ["db"], ["mysql"]),
        "or the user assigned them": (["controller"], ["mysql", "rabbitmq"], ["mysql"], [], ["mysql"]),
        "other tags stay": (["controller"], ["own"], [], ["compute"], ["own", "nova"]),
        "an instance goes with its tag": (["controller"], ["mysql", "mysql:2", "own:1"], [], [], ["own:1"]),
        "unless it is assigned or another role gives the tag": (
            ["controller", "db"],
            ["mysql", "mysql:2", "rabbitmq:1", "rabbitmq:2"],
            ["rabbitmq:2"],
            ["db"],
            ["mysql", "mysql:2", "rabbitmq:2"],
        ),
        "a removed tag does not come back": (
            ["controller"],
            ["rabbitmq"],
            [],
            ["controller", "compute"],
            ["rabbitmq", "nova"],
        ),
    },
)
def test_assigning_a_role_assigns_its_tags(
    before: list[str], tags: list[str], assigned: list[str], after: list[str], expected: list[str]
) -> None:
    assert list(tags_after_role_change(node("n", *before, tags=tags), after, TAGS_OF, assigned)) == expected
