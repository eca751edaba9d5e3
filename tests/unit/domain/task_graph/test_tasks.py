"""Reading a task document (contract: fuel-task-graph, 1)."""

from typing import Any

import pytest

from shipyard_api.domain.task_graph.tasks import Domain, Order, Reach, Relation, Selector, Strategy, Task, parse_tasks
from tests.task_graphs import group, task
from tests.unit.tables import every_row


def parse(**fields: Any) -> Task:
    return parse_tasks([task("a", **fields)])[0]


@every_row(
    {
        "every node": ({"role": "*"}, Selector(Domain.ROLES, every=True)),
        "a list means the name itself": ({"role": ["*"]}, Selector(Domain.ROLES, ("*",))),
        "one role": ({"role": "x"}, Selector(Domain.ROLES, ("x",))),
        "roles": ({"roles": ["x", "y", "x"]}, Selector(Domain.ROLES, ("x", "y"))),
        "none": ({}, None),
    },
)
def test_a_role_is_read_in_each_form(fields: dict[str, Any], expected: Selector | None) -> None:
    assert parse(**fields).role == expected


@every_row(
    {
        "every node by default": ({}, Selector(Domain.ROLES, every=True)),
        "the same node": ({"role": "self"}, Reach.SELF),
        "stages": ({"role": None}, Reach.STAGES),
        "a role": ({"role": ["x"]}, Selector(Domain.ROLES, ("x",))),
        "tags take precedence": ({"role": "x", "tags": ["t"]}, Selector(Domain.TAGS, ("t",))),
    },
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
