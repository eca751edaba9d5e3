"""Reports of health sources: a source holds the nodes that it finds unhealthy, until it finds them healthy."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.holds import Hold, HoldClass, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.usecases.holds.manage import NodeHolds


@dataclass(frozen=True, slots=True)
class ReportHealth:
    """The use case. A source is a caller: it ends the holds that it has placed, and no others."""

    holds: NodeHolds

    def unhealthy(self, node: str, reason: str, hold_class: HoldClass, caller: Caller) -> Sequence[Hold]:
        """Hold the node, and return the source's only hold on it. May be repeated; raises UnknownNode."""
        placed = self.holds.place(node, HoldKind.HEALTH, reason, None, caller, hold_class).hold
        # The new one is placed first, so that the node is held in between.
        self._release(node, caller, keep=placed)
        return [placed]

    def healthy(self, node: str, caller: Caller) -> Sequence[Hold]:
        """End the source's holds on the node, and return none. May be repeated."""
        self._release(node, caller)
        return []

    def _release(self, node: str, caller: Caller, keep: Hold | None = None) -> None:
        with self.holds.store.begin() as tx:
            for hold in tx.holds.active([NodeName(node)]):
                if hold.kind is HoldKind.HEALTH and hold.placed_by == caller.user and hold != keep:
                    tx.holds.release(hold.id, caller.user)
