"""Show every node that an action of ours ever had: as its latest action left it, and all that was done with it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import NodeNotFound
from shipyard_api.ports.state.nodes import LastNodeRecord, NodePast
from shipyard_api.ports.state.store import Store


@dataclass(frozen=True, slots=True)
class ListNodes:
    """The use case; changes nothing."""

    store: Store

    def page(self, *, status: Collection[str], prefix: str, after: str, limit: int) -> Sequence[LastNodeRecord]:
        """Return nodes after a name, whose last status and whose name's beginning are as asked for."""
        with self.store.begin() as tx:
            return tx.nodes.latest(status=status, prefix=prefix, after=after, limit=limit)

    def one(self, node: str, *, before: str | None, limit: int) -> tuple[LastNodeRecord, Sequence[NodePast]]:
        """Return a node and a page of what actions did with it, the newest first; raises NotFound."""
        with self.store.begin() as tx:
            past = tx.nodes.past(node, before=before, limit=limit)
            latest = past if before is None else tx.nodes.past(node, before=None, limit=1)
        if not latest:
            raise NodeNotFound(node)
        return LastNodeRecord(latest[0].action, latest[0].node), past
