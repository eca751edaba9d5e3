"""``node_teardowns``: how each operation of a node's teardown began and ended."""

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import TeardownChanged
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import Line

_INSERT = t.node_teardowns.insert().inline()


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Add what happened to the node."""
    if isinstance(fact, TeardownChanged):
        writes.add(
            _INSERT,
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
