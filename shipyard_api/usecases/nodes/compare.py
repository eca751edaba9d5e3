"""Compare what servers were given with the committed design, as far as its documents go; no peer is asked."""

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import NodeImpact


class CompareNodes(Struct, frozen=True):
    """The use case; changes nothing. ``committed``: returns the committed design."""

    specifications: Specifications
    committed: Callable[[], tuple[Revision, Rendering] | None]

    def __call__(self, nodes: Collection[NodeName], deployed: Collection[NodeName]) -> Mapping[NodeName, NodeImpact]:
        """Return the class of each of the nodes that has a record, or was left deployed; none without a design."""
        store = self.specifications.store
        known = {*store.read(lambda tx: tx.specifications.of(nodes)), *deployed}
        committed = self.committed() if known else None
        if committed is None:
            return {}
        revision, rendering = committed
        comparison = replace(self.specifications, rendered=lambda wanted: self._rendered(wanted, revision, rendering))
        designed = rendering.machines.nodes.keys()
        return comparison.impacts(revision, known & designed, None, deployed=known, services=False)

    def _rendered(self, wanted: Revision, committed: Revision, rendering: Rendering) -> Rendering:
        """Return the design of a revision; the committed one is not asked for again."""
        return rendering if wanted == committed else self.specifications.rendered(wanted)
