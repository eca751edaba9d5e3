"""Reports of health sources: a source holds the nodes that it finds unhealthy, until it finds them healthy."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct

from shipyard_api.domain.holds import SHIPYARD, Hold, HoldClass, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.holds.manage import NodeHolds

LOG = logging.getLogger(__name__)

_SHIPYARD = Caller(SHIPYARD, frozenset(), "")


class ReportHealth(Struct, frozen=True):
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


@dataclass(slots=True)
class PollHealth:
    """Report the health that the provisioner shows of the nodes of the committed design, every ``pause`` seconds.

    A node of unknown health stays as it is. So does one that is in no committed design.
    """

    report: ReportHealth
    provisioner: Provisioner
    now: Callable[[], datetime]
    pause: float
    _next: datetime | None = field(default=None, init=False)

    def __call__(self) -> int:
        """Hold and release nodes, and return how many. A silent peer is logged."""
        now = self.now()
        if self.provisioner.capabilities.health is None or (self._next is not None and now < self._next):
            return 0
        self._next = now + timedelta(seconds=self.pause)
        try:
            return self._changed(self.provisioner.capabilities.health())
        except PeerError as error:
            LOG.warning("peer in trouble", extra={"trouble": str(error)})
            return 0

    def _changed(self, health: Mapping[NodeName, str]) -> int:
        holds = self.report.holds
        active = holds.store.read(lambda tx: tx.holds.active())
        reasons = {
            hold_.node: hold_.reason
            for hold_ in active
            if hold_.kind is HoldKind.HEALTH and hold_.placed_by == SHIPYARD
        }
        better = [node for node in reasons if health.get(node) == ""]
        for node in better:
            self.report.healthy(node, _SHIPYARD)
        worse = {node: why for node, why in sorted(health.items()) if why and reasons.get(node) != why}
        known = (holds.rendered.committed_nodes() or frozenset()) if worse else frozenset()
        held = [node for node in worse if node in known]
        for node in held:
            self.report.unhealthy(node, worse[node], HoldClass.NO_DEPLOYMENT, _SHIPYARD)
        return len(better) + len(held)
