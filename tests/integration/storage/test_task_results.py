"""Results of tasks on a node, from the latest actions that ran any there."""

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store

AT = datetime(2026, 11, 22, tzinfo=UTC)


def test_a_nodes_results_are_those_of_its_own_latest_actions(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId]
) -> None:
    actions = []
    for nodes in ("n1 n2", "n1", "n2"):
        actions.append(create("a"))
        results = tuple(NodeResult(NodeName(node), TaskStatus.SUCCESS) for node in nodes.split())
        with engine.begin() as connection:
            journal.record(connection, Line(actions[-1], 1, "a", AT, "w"), [TaskChanged(TaskId("ntp"), "m", results)])
            connection.execute(t.actions.update().values(state="success", ended_at=AT))
    first, second, third = actions

    def shown(node: str, before: ActionId | None = None, limit: int = 9) -> list[str]:
        with store.begin() as tx:
            records = tx.task_results.on_node(node, before=before, limit=limit)
        assert {record.node for record in records} <= {node}
        return [record.action for record in records]

    assert (shown("n1"), shown("n2"), shown("n3")) == ([second, first], [third, first], [])
    assert (shown("n1", limit=1), shown("n2", limit=1)) == ([second], [third])
    assert (shown("n1", before=second), shown("n2", before=first)) == ([first], [])
