"""The hardware of a node: seen, and compared with the design. Shipyard v1.0 has no such resource."""

from typing import Any, ClassVar

import falcon
import msgspec

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded_peer
from shipyard_api.domain.hardware.seen import NotSeen
from shipyard_api.usecases.nodes.hardware import DescribeHardware, NodeHardware


class Hardware:
    """``/nodes/{node_name}/hardware``."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_node_hardware"}

    def __init__(self, describe: DescribeHardware) -> None:
        self._describe = describe

    @threaded_peer
    def on_get(self, _req: falcon.Request, resp: falcon.Response, node_name: str) -> None:
        """Answer with what the provisioner has seen of the node, its differences, and it all as a document."""
        resp.media = hardware_entity(self._describe(node_name))


def hardware_entity(described: NodeHardware) -> dict[str, Any]:
    """Return the hardware of a node as JSON."""
    seen, compared = described.seen, described.compared
    return {
        "node": described.node,
        "revision": described.revision,
        "expected": described.expected,
        "differences": list(compared.mismatches.get(described.node, ())),
        "unknown": seen.why if isinstance(seen, NotSeen) else compared.unknown.get(described.node, ""),
        "seen": None if isinstance(seen, NotSeen) else msgspec.to_builtins(seen),
        "document": described.document,
    }
