"""The machines that a simulated provisioner has deployed, from its event log."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shipyard_simulators.addresses import Addresses

DESIGN = "design"
"""The event of a design that was read."""


class Deployments:
    """Reads the log of a Drydock, MAAS or Ironic while it grows; the file may come later.

    ``addresses``: of each node, in each network, as the newest design has it that a Drydock read.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0
        self.addresses: Addresses = {}

    def new(self) -> Iterator[str]:
        """Yield the names of the machines whose deployment ended well since the last time."""
        if not self._path.is_file():
            return
        with self._path.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                event = json.loads(line)
                if event.get("event") == DESIGN:
                    self.addresses = event["addresses"]
                if name := _deployed(event):
                    yield name.lower()


def _deployed(event: Mapping[str, Any]) -> str:
    """Return the machine of an event that ends a deployment well, else an empty text."""
    match event:
        case {"event": "node_deployed", "node": str(name)}:
            return name
        case {"event": "machine", "kind": "status", "to": "Deployed", "machine": str(name)}:
            return name
        case {"event": "node_state", "state": "active", "before": "deploying" | "wait call-back", "node": str(name)}:
            return name
    return ""
