"""Which nodes are still cordoned by a drain, from what actions recorded."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import LeftCordon
from shipyard_api.domain.teardown.order import UNKNOWN_NODE, Operation, Outcome
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import Store

NOW = datetime(2026, 11, 22, tzinfo=UTC)
N1, N2 = NodeName("n1"), NodeName("n2")
BEGUN, ENDED, FAILED = Outcome.RUNNING, Outcome.DONE, Outcome.FAILED
DRAIN, LABELS, UNCORDON, GONE = (
    Operation.DRAIN,
    Operation.CLEAR_LABELS,
    Operation.UNCORDON,
    Operation.REMOVE_FROM_CLUSTER,
)
DRAINED = [(DRAIN, BEGUN, "")]

# The lines of n1; then whether it is left cordoned, and if so whether its labels are gone.
ROWS: list[tuple[list[tuple[Operation, Outcome, str]], bool | None]] = [
    ([], None),
    ([(DRAIN, ENDED, "")], None),  # the beginning of a drain places the cordon
    (DRAINED, False),
    ([*DRAINED, (DRAIN, FAILED, "pods stay")], False),
    ([*DRAINED, (LABELS, BEGUN, "")], True),
    ([*DRAINED, (LABELS, ENDED, "")], False),
    ([(LABELS, BEGUN, ""), *DRAINED], False),  # of an earlier teardown
    ([*DRAINED, (UNCORDON, BEGUN, "")], False),
    ([*DRAINED, (UNCORDON, FAILED, "refused")], False),
    ([*DRAINED, (UNCORDON, ENDED, "")], None),
    ([*DRAINED, (GONE, ENDED, "")], None),
    ([*DRAINED, (DRAIN, FAILED, UNKNOWN_NODE)], None),  # Kubernetes does not have the node
    ([*DRAINED, (UNCORDON, ENDED, ""), *DRAINED], False),
]


class Site:
    """Two actions that have ended, of which the first wrote the lines."""

    def __init__(self, store: Store, engine: sa.Engine, create: Callable[..., ActionId]) -> None:
        self.store, self.engine = store, engine
        self.actions = []
        for _ in range(2):
            self.actions.append(create("a"))
            self.set(state="success", ended_at=NOW)

    def set(self, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(t.actions.update().values(**values))

    def write(self, lines: list[tuple[Operation, Outcome, str]], node: NodeName = N1) -> None:
        with self.engine.begin() as connection:
            connection.execute(t.node_teardowns.delete().where(t.node_teardowns.c.node == node))
            for operation, outcome, message in lines:
                line = {"operation": operation.value, "outcome": outcome.value, "message": message}
                of_node = {"action_id": self.actions[0], "node": node, "etcd_begun": False, "at": NOW}
                connection.execute(t.node_teardowns.insert().values(**line, **of_node))

    def deploy(self, node: NodeName, after: timedelta, status: str = "success", group: str | None = "g") -> None:
        values = {"status": status, "group_name": group, "groups": ["g"], "updated_at": NOW + after}
        with self.engine.begin() as connection:
            connection.execute(t.action_nodes.delete())
            connection.execute(t.action_nodes.insert().values(action_id=self.actions[1], name=node, **values))

    def cordons(self) -> dict[NodeName, LeftCordon]:
        with self.store.begin() as tx:
            return dict(tx.nodes.left_cordons([N1, N2]))


def test_a_cordon_is_left_until_it_is_taken_back_or_its_node_is_gone(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId]
) -> None:
    site = Site(store, engine, create)
    site.write(DRAINED, N2)
    for lines, expected in ROWS:
        site.write(lines)
        cordons = site.cordons()
        assert (N1 in cordons and cordons[N1].labels_cleared) == bool(expected), lines
        assert (N1 in cordons) == (expected is not None), lines
        assert cordons[N2] == LeftCordon(N2, site.actions[0], ActionName("deploy_site"), NOW, False)
    # A drain that goes on is no cordon that was left.
    site.set(state="running", ended_at=None, exclusive=False)
    assert site.cordons() == {}


def test_a_node_that_was_deployed_since_is_not_cordoned(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId]
) -> None:
    site = Site(store, engine, create)
    site.write(DRAINED)
    second = timedelta(seconds=1)
    for deployed, left in (
        ((N1, second), []),
        ((N2, second), [N1]),
        ((N1, -second), [N1]),
        ((N1, second, "failure"), [N1]),
        ((N1, second, "success", None), [N1]),  # it was torn down, or only given labels
    ):
        site.deploy(*deployed)
        assert list(site.cordons()) == left, deployed
        with store.begin() as tx:
            assert list(tx.nodes.left_cordoned_by(site.actions[0], [N1])) == left
            assert tx.nodes.left_cordoned_by(site.actions[1], [N1]) == {}
