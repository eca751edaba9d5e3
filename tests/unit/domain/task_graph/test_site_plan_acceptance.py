"""Acceptance tasks of deployment groups, against the task graph."""

from typing import Any

from shipyard_api.domain.strategy.strategy import parse_strategy
from shipyard_api.domain.task_graph.site_plan import accepting_groups, check_acceptance
from tests.factories import group_entry
from tests.task_graphs import group, stage, task
from tests.unit.tables import every_row

GRAPH = [stage("test"), group("web"), task("check-disks", stage="test"), {"id": "old", "type": "skipped"}]
STRATEGY: dict[str, Any] = {"groups": [group_entry("a"), group_entry("b", accept=["check-disks"])]}


def test_groups_without_acceptance_tasks_have_none() -> None:
    assert accepting_groups(parse_strategy(STRATEGY)) == {"b": ("check-disks",)}
    assert check_acceptance(parse_strategy(STRATEGY), GRAPH) == ()


@every_row(
    [
        ("check-disk", "UnknownAcceptanceTask", "which is not in the task graph. Did you mean 'check-disks'?"),
        ("x", "UnknownAcceptanceTask", "Deployment group 'b' accepts nodes by 'x', which is not in the task graph."),
        ("web", "AcceptanceTaskCannotRun", "which cannot run: Shipyard cannot run tasks of type 'group'"),
        ("test", "AcceptanceTaskCannotRun", "type 'stage'"),
        ("old", "AcceptanceTaskCannotRun", "type 'skipped'"),
    ],
)
def test_what_cannot_accept_a_node_is_an_error_at_its_place(accept: str, name: str, message: str) -> None:
    strategy = parse_strategy({"groups": [group_entry("a"), group_entry("b", accept=["check-disks", accept])]})
    (finding,) = check_acceptance(strategy, GRAPH)
    assert (finding.name, finding.path) == (name, "/groups/1/accept/1")
    assert message in finding.message


def test_without_a_task_graph_every_task_is_unknown() -> None:
    (finding,) = check_acceptance(parse_strategy(STRATEGY), ())
    assert finding.name == "UnknownAcceptanceTask"
