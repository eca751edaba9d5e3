"""``node_changes``: each status that nodes of an action got, a row for each fact."""

from collections.abc import Mapping, Sequence
from typing import Any

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import LateResult
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.provisioner import Operation
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import Line

# The phase of an operation on nodes, and the status of the nodes that it succeeds on.
_REACHED: Mapping[str, tuple[Phase, NodeStatus]] = {
    Operation.PREPARE_NODES.value: (Phase.PREPARE, NodeStatus.PREPARED),
    Operation.DEPLOY_NODES.value: (Phase.DEPLOY, NodeStatus.SUCCESS),
    Operation.REBUILD_NODES.value: (Phase.DEPLOY, NodeStatus.SUCCESS),
    Operation.SERVICE_NODES.value: (Phase.DEPLOY, NodeStatus.SUCCESS),
    Operation.POWER_CYCLE_NODES.value: (Phase.DEPLOY, NodeStatus.SUCCESS),
}

_INSERT = t.node_changes.insert().inline()


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Add what happened to nodes."""
    match fact:
        case NodesChanged():
            row = _row(line, fact.status, fact.nodes, [fact.reasons.get(node, "") for node in fact.nodes])
            row |= {"group_name": fact.group, "phase": fact.phase.value, "reason": fact.reason}
            writes.add(_INSERT, row)
        case NodesKept():
            row = _row(line, NodeStatus.SUCCESS, fact.nodes, [fact.detail] * len(fact.nodes))
            writes.add(_INSERT, row)
        case LateResult() if fact.operation in _REACHED:
            phase, reached = _REACHED[fact.operation]
            for status, nodes in ((reached, fact.succeeded), (NodeStatus.FAILURE, fact.failed)):
                if nodes:
                    row = _row(line, status, nodes, [fact.message] * len(nodes))
                    writes.add(_INSERT, row | {"phase": phase.value, "late": True})


def _row(line: Line, status: NodeStatus, nodes: Sequence[NodeName], details: Sequence[str]) -> dict[str, Any]:
    return {
        "action_id": line.action,
        "status": status.value,
        "nodes": list(nodes),
        "details": list(details) if any(details) else [],
        "late": False,
        "at": line.at,
    }
