"""The machines of the site as MAAS knows them, each with its planned status changes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

Change = tuple[float, str | None]
"""The machine has this MAAS status from this moment on; None: MAAS does not know it."""

_POWERED = {"Commissioning", "Testing", "Deploying", "Deployed", "Failed deployment"}


class Site:
    """The status of every machine as a function of time. Not thread-safe: the orchestrator's lock guards it."""

    def __init__(self, machines: Mapping[str, str]) -> None:
        self._changes: dict[str, list[Change]] = {}
        self._attempts: Counter[tuple[str, str]] = Counter()
        self.silent: set[str] = set()
        """Nodes with a boot action that never reported; it fails their later deployments, too."""
        self.place(machines)

    def place(self, machines: Mapping[str, str]) -> None:
        """Set the status of machines at once and forget earlier attempts at all nodes."""
        self._changes |= {node: [(0.0, status)] for node, status in machines.items()}
        self._attempts.clear()
        self.silent.clear()

    def status(self, node: str, moment: float) -> str | None:
        """Return the status of the machine at this moment, or None if MAAS does not know it."""
        found: str | None = None
        for since, status in self._changes.get(node, ()):
            if since > moment:
                break
            found = status
        return found

    def change(self, node: str, changes: Iterable[Change]) -> None:
        """Add the changes, in order of time; earlier plans from their first moment on are dropped."""
        ahead = sorted(changes, key=lambda change: change[0])
        if ahead:
            kept = [change for change in self._changes.get(node, ()) if change[0] < ahead[0][0]]
            self._changes[node] = kept + ahead

    def attempt(self, node: str, phase: str) -> int:
        """Count an attempt at the phase of the node and return its number, from 1."""
        self._attempts[node, phase] += 1
        return self._attempts[node, phase]

    def machines(self, moment: float) -> list[dict[str, Any]]:
        """Return the machines that MAAS knows at this moment, as ``GET /nodes`` shows them."""
        shown = []
        for node in self._changes:
            status = self.status(node, moment)
            if status is not None:
                shown.append(_machine(node, status))
        return shown


def _machine(node: str, status: str) -> dict[str, Any]:
    mark = crc32(node.encode())
    mac = ":".join(f"{(mark >> shift) & 0xFF:02x}" for shift in (24, 16, 8, 0))
    return {
        "hostname": node,
        "memory": 8192,
        "cpu_count": 4,
        "status_name": status,
        "boot_mac": f"52:54:{mac}",
        "power_state": "on" if status in _POWERED else "off",
        "power_address": f"172.30.{(mark >> 8) & 0xFF}.{mark & 0xFF}",
        "boot_ip": None,
    }
