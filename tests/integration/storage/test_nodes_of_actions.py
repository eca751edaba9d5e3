"""What facts make of the nodes of an action and of their records, and of no other node."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import LateResult
from shipyard_api.domain.facts.nodes import NodesGivenUp
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.provisioner import Operation
from shipyard_api.storage import journal
from shipyard_api.storage.nodes import SKIPPED
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store
from tests.factories import group, strategy

N1, N2 = NodeName("n1"), NodeName("n2")
GIVEN = dict.fromkeys((N1, N2), '{"design": "d-1", "provisioner": "maas"}')


def recorded(engine: sa.Engine, create: Callable[..., ActionId], *facts: Fact) -> ActionId:
    action, members = create("a"), {GroupName("a"): frozenset(GIVEN)}
    line = Line(action, 1, "a", datetime(2026, 11, 30, tzinfo=UTC), "w")
    with engine.begin() as connection:
        journal.record(connection, line, (MembersKnown.of(strategy(group("a")), members, GIVEN), *facts))
    return action


def test_nodes_are_given_up_by_name(store: Store, engine: sa.Engine, create: Callable[..., ActionId]) -> None:
    action = recorded(engine, create, NodesGivenUp((N1,), "destroy_nodes failed"))
    nodes = store.read(lambda tx: tx.actions.nodes(action, status=(), group=(), after="", limit=9))
    assert {node.name: node.reason for node in nodes} == {N1: SKIPPED, N2: None}


@pytest.mark.parametrize("operation", [Operation.DEPLOY_NODES, Operation.REBUILD_NODES, Operation.PREPARE_NODES])
def test_what_a_job_that_was_left_behind_installed_has_its_record(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId], operation: Operation
) -> None:
    action = recorded(engine, create, LateResult("j", operation.value, "complete", (N1,), (N2,)))
    records = store.read(lambda tx: tx.specifications.of([N1, N2]))
    installed = {} if operation is Operation.PREPARE_NODES else {N1: action}
    assert {name: record.action for name, record in records.items()} == installed
