"""Compare deployed servers with the hardware and the cabling that the design expects (product, section 15)."""

from collections.abc import Iterable, Sequence

from shipyard_api.domain.drift.differences import Difference, Kind
from shipyard_api.domain.drift.observations import LeftNode
from shipyard_api.domain.hardware.compare import Compared

AS_DESIGNED = "the expected hardware"


def of_hardware(left: Iterable[LeftNode], compared: Compared) -> Sequence[Difference]:
    """Return how servers differ, in order of node. Two with swapped cables are one difference, of the first."""
    nodes = {node.name: node for node in left}
    second = {node: text for _, node, text in compared.pairs}
    return [
        Difference(name, Kind.HARDWARE, AS_DESIGNED, "; ".join(own), nodes[name].since)
        for name, texts in sorted(compared.mismatches.items())
        if name in nodes and (own := [text for text in texts if second.get(name) != text])
    ]
