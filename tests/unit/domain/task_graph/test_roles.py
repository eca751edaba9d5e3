"""From roles and tags to nodes: primaries, selectors, and the tags of a role (contract: fuel-task-graph, 2)."""

from collections.abc import Mapping
from typing import Any

import pytest

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import is_true, parse_condition
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


@pytest.mark.parametrize(
    ("domain", "names", "nodes"),
    [
        pytest.param(Domain.ROLES, ["controller"], ["n2"], id="primary-x replaces x"),
        pytest.param(Domain.ROLES, ["primary-controller"], ["n1"], id="the primary"),
        pytest.param(Domain.ROLES, ["controller", "compute"], ["n2", "n3"], id="any of the names"),
        pytest.param(Domain.ROLES, ["/^(primary-)?controller$/"], ["n1", "n2"], id="an expression"),
        pytest.param(Domain.ROLES, ["/c/"], ["n2", "n3"], id="an expression matches from the start"),
        pytest.param(Domain.ROLES, ["/.*/"], ["n1", "n2", "n3"], id="every node with a role"),
        pytest.param(Domain.ROLES, ["*"], [], id="a lone asterisk in a list is a name"),
        pytest.param(Domain.ROLES, ["mysql"], [], id="a tag is no role"),
        pytest.param(Domain.ROLES, [], [], id="no name, no node"),
        pytest.param(Domain.ROLES, ["master"], ["master"], id="the pseudo node"),
        pytest.param(Domain.ROLES, ["master", "compute"], ["n3", "master"], id="the pseudo node and a role"),
        pytest.param(Domain.TAGS, ["mysql"], ["n1"], id="a tag"),
        pytest.param(Domain.TAGS, ["primary-mysql"], ["n2"], id="the primary of a tag"),
        pytest.param(Domain.TAGS, ["mysql:2"], ["n2"], id="an instance tag"),
        pytest.param(Domain.TAGS, [r"/mysql:\d/"], ["n2"], id="an expression over tags"),
        pytest.param(Domain.TAGS, ["controller"], [], id="a role is no tag"),
    ],
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


@pytest.mark.parametrize(
    ("nodes", "current", "primary"),
    [
        pytest.param([{}, {}], None, "n0", id="the first node"),
        pytest.param([{}, {"ready": True}], None, "n1", id="a ready node first"),
        pytest.param([{}, {}], "n1", "n1", id="a primary stays"),
        pytest.param([{"ready": True}, {}], "n1", "n1", id="a primary stays although another is ready"),
        pytest.param([{}, {"leaving": True}], "n1", "n0", id="a primary that leaves does not stay"),
        pytest.param([{"leaving": True}, {}], None, "n1", id="a node that leaves is not chosen"),
        pytest.param([{}, {}], "gone", "n0", id="a primary that is gone"),
        pytest.param([{"leaving": True}], None, None, id="nobody left"),
    ],
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


@pytest.mark.parametrize(
    ("before", "tags", "assigned", "after", "expected"),
    [
        pytest.param([], [], [], ["controller"], ["mysql", "rabbitmq"], id="a role brings its tags"),
        pytest.param(["controller"], ["mysql", "rabbitmq"], [], [], [], id="and takes them away"),
        pytest.param(
            ["controller", "db"], ["mysql", "rabbitmq"], [], ["db"], ["mysql"], id="unless another role gives them"
        ),
        pytest.param(["controller"], ["mysql", "rabbitmq"], ["mysql"], [], ["mysql"], id="or the user assigned them"),
        pytest.param(["controller"], ["own"], [], ["compute"], ["own", "nova"], id="other tags stay"),
        pytest.param(
            ["controller"],
            ["rabbitmq"],
            [],
            ["controller", "compute"],
            ["rabbitmq", "nova"],
            id="a removed tag does not come back",
        ),
    ],
)
def test_assigning_a_role_assigns_its_tags(
    before: list[str], tags: list[str], assigned: list[str], after: list[str], expected: list[str]
) -> None:
    assert list(tags_after_role_change(node("n", *before, tags=tags), after, TAGS_OF, assigned)) == expected
