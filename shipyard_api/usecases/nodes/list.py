"""List every node that an action ever held: its state in the latest action, and its history."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from shipyard_api.domain.errors import NodeNotFound
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.nodes import LastNodeRecord, NodeHistory
from shipyard_api.ports.state.store import Store


@dataclass(frozen=True, slots=True)
class ListNodes:
    """The use case; changes nothing."""

    store: Store

    def page(self, *, status: Collection[str], prefix: str, after: str, limit: int) -> Sequence[LastNodeRecord]:
        """Return nodes after a name, filtered by their last status and the beginning of their name."""
        with self.store.begin() as tx:
            found = tx.nodes.latest(status=status, prefix=prefix, after=after, limit=limit)
            holds = tx.holds.active([NodeName(one.node.name) for one in found])
        by_name = defaultdict(list)
        for hold in holds:
            by_name[hold.node].append(hold)
        return [replace(one, holds=by_name[NodeName(one.node.name)]) for one in found]

    def one(self, node: str, *, before: str | None, limit: int) -> tuple[LastNodeRecord, Sequence[NodeHistory]]:
        """Return a node and a page of its history, newest first; raises NotFound."""
        with self.store.begin() as tx:
            history = tx.nodes.history(node, before=before, limit=limit)
            latest = history if before is None else tx.nodes.history(node, before=None, limit=1)
            holds = tx.holds.active([NodeName(node)])
        if not latest:
            raise NodeNotFound(node)
        return LastNodeRecord(latest[0].action, latest[0].node, holds), history
