"""List every node that an action ever held: its state in the latest action, and its history."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import NodeNotFound
from shipyard_api.ports.state.nodes import LastNodeRecord, NodeHistory
from shipyard_api.ports.state.store import Store


@dataclass(frozen=True, slots=True)
class ListNodes:
    """The use case; changes nothing."""

    store: Store

    def page(self, *, status: Collection[str], prefix: str, after: str, limit: int) -> Sequence[LastNodeRecord]:
        """Return nodes after a name, filtered by their last status and the beginning of their name."""
        with self.store.begin() as tx:
            return tx.nodes.latest(status=status, prefix=prefix, after=after, limit=limit)

    def one(self, node: str, *, before: str | None, limit: int) -> tuple[LastNodeRecord, Sequence[NodeHistory]]:
        """Return a node and a page of its history, newest first; raises NotFound."""
        with self.store.begin() as tx:
            history = tx.nodes.history(node, before=before, limit=limit)
            latest = history if before is None else tx.nodes.history(node, before=None, limit=1)
        if not latest:
            raise NodeNotFound(node)
        return LastNodeRecord(latest[0].action, latest[0].node), history
