"""The hardware of nodes, from the build data that Drydock collected when it last prepared each of them.

Drydock lists the memory of all machines. Everything else is in the build data of a node, a request each; nothing shows
whether it has changed, so it is read again each time.
"""

from collections.abc import Collection

from shipyard_api.domain.hardware import inspections
from shipyard_api.domain.hardware.seen import Aspect, NotSeen, SeenHardware, SeenNodes
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import MOST_REQUESTS

from .client import DrydockClient

_LISTED = frozenset({Aspect.MEMORY})
_MIB = 1024 * 1024


class Inventories:
    """Reads the hardware of nodes. Safe for threads."""

    def __init__(self, client: DrydockClient) -> None:
        self._client = client

    def __call__(self, nodes: Collection[NodeName], aspects: frozenset[Aspect]) -> SeenNodes:
        """Return the hardware of nodes; see ``ReadInventory``."""
        if aspects <= _LISTED:
            listed = self._client.nodes()
            return {node: _of_list(listed.get(node)) for node in nodes}
        return {node: _of_records(self._client.build_data(node)) for node in sorted(nodes)[:MOST_REQUESTS]}


def _of_list(machine: JsonObject | None) -> SeenHardware | NotSeen:
    if machine is None:
        return NotSeen("Drydock shows no machine of this name")
    return SeenHardware(memory=inspections.number(machine.get("memory")) * _MIB)


def _of_records(records: list[JsonObject]) -> SeenHardware | NotSeen:
    """Return the hardware in the newest records of a node."""
    texts = {str(record.get("generator")): str(record.get("data_element") or "") for record in records}
    if "lshw" not in texts:
        return NotSeen("Drydock has collected no hardware data of it yet")
    seen = inspections.hardware(texts["lshw"], texts.get("lldp", ""))
    return seen or NotSeen("the hardware data that Drydock has collected of it cannot be read")
