"""List every node that an action ever held: its state in the latest action, and its history."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shipyard_api.domain.errors import NodeNotFound
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.specification.impact import NodeImpact
from shipyard_api.ports.state.nodes import LastNodeRecord, NodeHistory, NodeRecord, TeardownRecord
from shipyard_api.storage.unit_of_work import Store

MOST_TEARDOWNS = 100
"""How many of the latest lines of a node's teardowns are shown."""


@dataclass(frozen=True, slots=True)
class OneNode:
    """A node with its history of actions and teardowns, newest first."""

    last: LastNodeRecord
    history: Sequence[NodeHistory]
    teardowns: Sequence[TeardownRecord]


@dataclass(frozen=True, slots=True)
class ListNodes:
    """The use case; changes nothing. ``job_address``, ``page_of``: where the provisioner shows them; None: nowhere.

    ``designed``: the nodes of the committed design; None if they are not known. ``compare``: returns what that design
    asks of nodes, the second ones of which actions left deployed.
    """

    store: Store
    job_address: Callable[[str], str | None]
    page_of: Callable[[str], str | None]
    designed: Callable[[], Collection[NodeName] | None]
    compare: Callable[[Collection[NodeName], Collection[NodeName]], Mapping[NodeName, NodeImpact]] = lambda *_: {}

    def page(
        self, *, status: Collection[str], prefix: str, names: Collection[str] = (), after: str, limit: int
    ) -> Sequence[LastNodeRecord]:
        """Return nodes after a name, filtered by their last status, the beginning of their name, and their names."""
        with self.store.begin() as tx:
            records = tx.nodes.latest(status=status, prefix=prefix, names=names, after=after, limit=limit)
            shown = [NodeName(record.node.name) for record in records]
            holds, cordons = tx.holds.active(shown), tx.nodes.left_cordons(shown)
            pending = tx.nodes.pending([hold.node for hold in holds]) if holds else {}
            assigned = tx.software.assigned(shown)
        impacts = self._impacts(records)
        by_name = defaultdict(list)
        for hold in holds:
            by_name[hold.node].append(hold)
        return [
            replace(
                record,
                holds=by_name[name],
                cordon=cordons.get(name),
                pending=pending.get(name, ()),
                impact=impacts.get(name),
            )
            for name, record in zip(shown, (_with_labels(record, assigned) for record in records), strict=True)
        ]

    def one(self, node: str, *, before: str | None, limit: int) -> OneNode:
        """Return a node and a page of its history, newest first; raises NotFound.

        A node that was only torn down by single operations has no history of deployments.
        """
        with self.store.begin() as tx:
            history = tx.nodes.history(node, before=before, limit=limit)
            last = tx.nodes.last(node)
            holds = tx.holds.active([NodeName(node)])
            pending = tx.nodes.pending([NodeName(node)]).get(NodeName(node), ()) if holds else ()
            cordon = tx.nodes.left_cordons([NodeName(node)]).get(NodeName(node))
            teardowns = tx.nodes.teardowns(node, limit=MOST_TEARDOWNS)
            assigned = tx.software.assigned([NodeName(node)])
        if last is None and teardowns:
            record = NodeRecord(node, NodeStatus.NOT_STARTED, None, "", None, [], teardowns[0].at)
            last = LastNodeRecord(teardowns[0].action, record)
        if last is None:
            raise NodeNotFound(node)
        last = replace(_with_labels(last, assigned), impact=self._impacts([last]).get(NodeName(node)))
        return OneNode(replace(last, holds=holds, cordon=cordon, pending=pending), history, teardowns)

    def _impacts(self, records: Sequence[LastNodeRecord]) -> Mapping[NodeName, NodeImpact]:
        names = [NodeName(record.node.name) for record in records]
        deployed = [NodeName(record.node.name) for record in records if record.node.status is NodeStatus.SUCCESS]
        return self.compare(names, deployed)


def _with_labels(
    record: LastNodeRecord, assigned: Mapping[NodeName, tuple[Sequence[str], Sequence[str]]]
) -> LastNodeRecord:
    roles, tags = assigned.get(NodeName(record.node.name), ((), ()))
    return replace(record, roles=roles, tags=tags)
