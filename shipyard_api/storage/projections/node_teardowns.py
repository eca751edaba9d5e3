"""``node_teardowns``: how each operation of a node's teardown began and ended."""

import sqlalchemy as sa

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import TeardownChanged
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections.line import Line


def project(connection: sa.Connection, line: Line, fact: Fact) -> None:
    """Add what happened to the node."""
    if isinstance(fact, TeardownChanged):
        connection.execute(
            t.node_teardowns.insert(),
            {
                "action_id": line.action,
                "node": fact.node,
                "operation": fact.operation.value,
                "outcome": fact.outcome.value,
                "message": fact.message,
                "etcd_begun": fact.etcd_begun,
                "at": line.at,
            },
        )
