"""Hold nodes for as long as their maintenance windows are open (product, section 13): the holds expire with them."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.holds import SHIPYARD, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.windows import WindowHold, window_holds
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class PlaceWindowHolds:
    """The use case. ``pause``: seconds between two looks at the committed design.

    A hold is placed up to twice that before its window begins, so that it is there in time. Each window is placed once,
    by whichever process comes first: a hold that an operator releases stays released until the next window.
    """

    store: Store
    designs: DesignStore
    rendered: RenderedDesigns
    rules: DesignRules
    now: Callable[[], datetime]
    pause: float
    _next: datetime | None = field(default=None, init=False)
    _read: tuple[Rendering, Sequence[tuple[WindowHold, Sequence[NodeName]]]] | None = field(default=None, init=False)
    _placed: set[tuple[str, datetime]] = field(default_factory=set, init=False)

    def __call__(self) -> int:
        """Place the holds of windows that are open or begin soon, and return how many. A silent peer is logged."""
        now = self.now()
        if self._next is not None and now < self._next:
            return 0
        self._next = now + timedelta(seconds=self.pause)
        try:
            rules = self._rules()
        except (PeerError, RenderingFailed, UnknownRevision) as error:
            LOG.warning("windows not read", extra={"trouble": str(error)})
            return 0
        window_ends = [
            (rule, nodes, end) for rule, nodes in rules for end in rule.ends(now, timedelta(seconds=2 * self.pause))
        ]
        count = sum(
            self._place(rule, nodes, end) for rule, nodes, end in window_ends if (rule.name, end) not in self._placed
        )
        self._placed = {(rule.name, end) for rule, _, end in window_ends}
        return count

    def _rules(self) -> Sequence[tuple[WindowHold, Sequence[NodeName]]]:
        """Return the holds of the committed design with their nodes; none of a design with errors."""
        revision = committed_revision(self.designs.heads())
        if revision is None:
            return ()
        rendering = self.rendered.of(revision)
        if self._read is None or self._read[0] is not rendering:
            inputs, _ = self.rules.read(revision, rendering)
            policy = inputs.policy.data if inputs and inputs.policy else {}
            machines = rendering.machines
            self._read = rendering, [(rule, sorted(rule.nodes(machines))) for rule in window_holds(policy)]
            self._placed = set()
        return self._read[1]

    def _place(self, rule: WindowHold, nodes: Sequence[NodeName], end: datetime) -> int:
        holds = [NewHold(node, HoldKind.MAINTENANCE, rule.reason, SHIPYARD, end, rule.hold_class) for node in nodes]
        with self.store.begin() as tx:
            placed = tx.holds.place_once(holds)
        if placed:
            LOG.info("nodes held for a window", extra={"window": rule.name, "nodes": len(placed)})
        return len(placed)
