"""Place, release and list holds on nodes (product, section 6)."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from shipyard_api.domain.errors import HoldInThePast, HoldNotFound, UnknownNode
from shipyard_api.domain.holds import Hold, HoldClass, HoldId, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.documents import DesignStore, RenderingFailed
from shipyard_api.ports.state.holds import NewHold, PlacedHold
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision

MOST = 1000
"""Ended holds can be many; a list that includes them has at most this many."""


class NodeHolds(Struct, frozen=True):
    """The use cases."""

    store: Store
    designs: DesignStore
    rendered: RenderedDesigns
    clock: Clock

    def place(
        self,
        node: str,
        kind: HoldKind,
        reason: str,
        until: datetime | timedelta | None,
        caller: Caller,
        hold_class: HoldClass = HoldClass.ALL,
    ) -> PlacedHold:
        """Place a hold that ends at a moment, after a duration, or never. Raises UnknownNode and HoldInThePast."""
        now = self.clock.now()
        end = now + until if isinstance(until, timedelta) else until
        if end is not None and end <= now:
            raise HoldInThePast(end)
        self._check_known(node)
        with self.store.begin() as tx:
            return tx.holds.place(NewHold(NodeName(node), kind, reason, caller.user, end, hold_class))

    def release(self, hold: str, caller: Caller) -> Hold:
        """Release a hold and return it; one that has ended stays as it is. Raises HoldNotFound."""
        with self.store.begin() as tx:
            return _found(hold, tx.holds.release(HoldId(hold), caller.user))

    def one(self, hold: str) -> Hold:
        """Return a hold; raises HoldNotFound."""
        with self.store.begin() as tx:
            return _found(hold, tx.holds.get(HoldId(hold)))

    def all(self, nodes: Collection[str], *, ended: bool) -> Sequence[Hold]:
        """Return the active holds in order of node, or the newest holds with those that ended; none: of all nodes."""
        names = [NodeName(node) for node in nodes] or None
        with self.store.begin() as tx:
            return tx.holds.latest(names, limit=MOST) if ended else tx.holds.active(names)

    def _check_known(self, node: str) -> None:
        """Refuse a name that is probably misspelled: a hold on it would protect nothing.

        The design is read only for a node that no action has had, so holds do not need the document store.
        """
        with self.store.begin() as tx:
            if tx.nodes.history(node, before=None, limit=1):
                return
        revision = committed_revision(self.designs.heads())
        try:
            known = () if revision is None else self.rendered.inventory(revision).nodes
        except RenderingFailed:
            known = ()
        if node not in known:
            raise UnknownNode(node)


def _found(hold: str, stored: Hold | None) -> Hold:
    if stored is None:
        raise HoldNotFound(hold)
    return stored
