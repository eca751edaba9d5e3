"""``holds``: the holds that Shipyard places by itself, on late nodes and on nodes that have failed several times."""

import sqlalchemy as sa

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesFailed, NodesLate
from shipyard_api.domain.holds import SHIPYARD, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.storage import hold_rows
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import Line

# The latest outcomes of a node in actions that submitted it, since such a hold on it was last released.
_IN_A_ROW = sa.text("""
    SELECT failed.node FROM unnest(CAST(:nodes AS text[])) AS failed (node)
    WHERE NOT EXISTS (
        SELECT FROM holds
        WHERE node = failed.node AND kind = :kind AND released_at IS NULL AND (until IS NULL OR until > site_time())
    ) AND :failures = (
        SELECT count(*) FILTER (WHERE status = 'failure') FROM (
            SELECT status FROM action_nodes
            WHERE name = failed.node AND group_name IS NOT NULL AND status IN ('success', 'failure')
              AND coalesce(reason, '') NOT IN ('held', 'hardware') AND updated_at > coalesce(
                (SELECT max(released_at) FROM holds WHERE node = failed.node AND kind = :kind), '-infinity'
              )
            ORDER BY action_id DESC LIMIT :failures
        ) latest
    )
    ORDER BY failed.node
""")


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Hold the nodes that have failed often enough, or are late. The turn has locked the row of its action."""
    match fact:
        case NodesLate(hold=True):
            writes.send()
            hold_rows.lock(writes.connection)
            why = f"late in {fact.phase.value} of action {line.action}"
            placed = [NewHold(node, HoldKind.LATE, why, SHIPYARD) for node in fact.usual]
            hold_rows.insert(writes.connection, placed)
        case NodesFailed():
            kind = HoldKind.FAILED
            values = {"nodes": list(fact.nodes), "failures": fact.hold_after, "kind": kind.value}
            writes.send()
            connection = writes.connection
            nodes = list(connection.execute(_IN_A_ROW, values).scalars())
            if nodes:
                hold_rows.lock(connection)
                why = f"{fact.hold_after} deployments in a row failed, the last one in action {line.action}"
                hold_rows.insert(connection, [NewHold(NodeName(node), kind, why, SHIPYARD) for node in nodes])
