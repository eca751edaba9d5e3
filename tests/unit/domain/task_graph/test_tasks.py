"""Reading a task document (contract: fuel-task-graph, 1)."""

from typing import Any

import pytest

from shipyard_api.domain.task_graph.tasks import (
    Domain,
    Order,
    Reach,
    Relation,
    Selector,
    Strategy,
    Task,
    parse_tasks,
)
from tests.task_graphs import group, task


def parse(**fields: Any) -> Task:
    return parse_tasks([task("a", **fields)])[0]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"role": "*"}, Selector(Domain.ROLES, every=True), id="every node"),
        pytest.param({"role": ["*"]}, Selector(Domain.ROLES, ("*",)), id="a list means the name itself"),
        pytest.param({"role": "x"}, Selector(Domain.ROLES, ("x",)), id="one role"),
        pytest.param({"roles": ["x", "y", "x"]}, Selector(Domain.ROLES, ("x", "y")), id="roles"),
        pytest.param({}, None, id="none"),
    ],
)
def test_a_role_is_read_in_each_form(fields: dict[str, Any], expected: Selector | None) -> None:
    assert parse(**fields).role == expected


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        pytest.param({}, Selector(Domain.ROLES, every=True), id="every node by default"),
        pytest.param({"role": "self"}, Reach.SELF, id="the same node"),
        pytest.param({"role": None}, Reach.STAGES, id="stages"),
        pytest.param({"role": ["x"]}, Selector(Domain.ROLES, ("x",)), id="a role"),
        pytest.param({"role": "x", "tags": ["t"]}, Selector(Domain.TAGS, ("t",)), id="tags take precedence"),
    ],
)
def test_a_relation_names_its_nodes(relation: dict[str, Any], expected: object) -> None:
    read = parse(**{"cross-depends": [{"name": "b", "policy": "any", **relation}]})

    assert read.depends == (Relation("b", expected, any_node=True),)  # type: ignore[arg-type]  # what the table says
    assert read.by_task


@pytest.mark.parametrize(
    ("fields", "by_task"),
    [({}, False), ({"version": "1.9.9"}, False), ({"version": "2.0.0"}, True), ({"version": "10.0.0"}, True)],
)
def test_from_version_2_on_a_task_is_ordered_by_its_own_dependencies(fields: dict[str, Any], *, by_task: bool) -> None:
    assert parse(**fields).by_task is by_task


def test_a_strategy_stands_in_the_parameters_or_beside_them() -> None:
    computed = {"type": "parallel", "amount": {"yaql_exp": "$"}}

    assert parse(strategy={"type": "parallel", "amount": 2}).strategy == Strategy(Order.PARALLEL, 2)
    assert parse_tasks([group("g", "one_by_one")])[0].strategy == Strategy(Order.ONE_BY_ONE)
    assert parse(strategy=computed).strategy == Strategy(Order.PARALLEL, 1)
    assert parse().strategy == Strategy()


def test_a_computed_condition_or_relation_is_known_as_such() -> None:
    assert parse(condition={"yaql_exp": "$.x"}).computed
    assert parse(cross_depends={"yaql_exp": "$.x"}).computed
    assert not parse(condition="true").computed
    assert parse(condition=False).condition is False
