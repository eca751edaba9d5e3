"""What the simulator did, as one JSON object a line: the evidence that no node was worked on twice."""

import json
import threading
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import stamp


class EventLog:
    """Events in the order of their time, kept in memory and, if wanted, in a file. Safe to use from several threads."""

    def __init__(self, path: Path | None) -> None:
        self._events: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        # Line buffering: whoever reads the file meanwhile sees whole events.
        self._file = path.open("a", encoding="utf-8", buffering=1) if path else None

    def write(self, moment: float, event: str, **fields: object) -> None:
        """Add an event that happened at the moment."""
        entry = {"time": stamp(moment, offset="+00:00"), "event": event, **fields}
        with self._lock:
            self._events.append(entry)
            if self._file:
                self._file.write(json.dumps(entry) + "\n")

    def events(self) -> list[dict[str, Any]]:
        """Return everything so far."""
        with self._lock:
            return list(self._events)

    def close(self) -> None:
        """Close the file; events are then kept in memory only."""
        with self._lock:
            if self._file:
                self._file.close()
            self._file = None
