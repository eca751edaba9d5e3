"""Describe the hardware of a node: what was seen of it, how it differs from the committed design, and as a document."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.errors import NodeNotInProvisioner
from shipyard_api.domain.hardware.compare import Compared, compare
from shipyard_api.domain.hardware.golden import document
from shipyard_api.domain.hardware.seen import EVERYTHING, NotSeen, SeenHardware
from shipyard_api.domain.nodes import NodeName


class NodeHardware(Struct, frozen=True):
    """The hardware of a node. ``expected``: whether the committed design expects any of it."""

    node: NodeName
    revision: Revision | None
    seen: SeenHardware | NotSeen
    compared: Compared
    expected: bool
    document: Mapping[str, Any] | None


class DescribeHardware(Struct, frozen=True):
    """The use case; changes nothing. ``committed``: returns the committed design."""

    hardware: Hardware
    committed: Callable[[], tuple[Revision, Rendering] | None]

    def __call__(self, name: str) -> NodeHardware:
        """Return the hardware of a node, in the design or not; raises NotFound if nothing knows it."""
        node, committed = NodeName(name), self.committed()
        revision, machines = (committed[0], committed[1].machines.nodes) if committed else (None, {})
        seen = self.hardware.seen([node], EVERYTHING).get(node, NotSeen("it has not been read yet"))
        if isinstance(seen, NotSeen) and node not in machines:
            raise NodeNotInProvisioner(node, self.hardware.provisioner.name)
        expected = self.hardware.expected(revision) if revision is not None else {}
        profile = machines[node].hardware if node in machines else ""
        golden = document(node, profile, seen) if isinstance(seen, SeenHardware) else None
        compared = compare(expected, {node: seen}, [node])
        return NodeHardware(node, revision, seen, compared, node in expected, golden)
