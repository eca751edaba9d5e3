"""The event log of a simulator: one JSON object a line. Tests use it to prove that no node was prepared twice."""

import json
import threading
from collections import deque
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import stamp


class EventLog:
    """Events in the order of their time, kept in memory and optionally in a file. Thread-safe.

    ``most``: how many are kept in memory; None: all.
    """

    def __init__(self, path: Path | None, *, most: int | None = None) -> None:
        self._events: deque[dict[str, Any]] = deque(maxlen=most)
        self._lock = threading.Lock()
        # Line buffering: a reader of the file always sees whole events.
        self._file = path.open("a", encoding="utf-8", buffering=1) if path else None

    def write(self, moment: float, event: str, **fields: object) -> None:
        """Add an event."""
        entry = {"time": stamp(moment, offset="+00:00"), "event": event, **fields}
        with self._lock:
            self._events.append(entry)
            if self._file:
                self._file.write(json.dumps(entry) + "\n")

    def events(self) -> list[dict[str, Any]]:
        """Return the events that are kept."""
        with self._lock:
            return list(self._events)

    def close(self) -> None:
        """Close the file. Later events are kept in memory only."""
        with self._lock:
            if self._file:
                self._file.close()
            self._file = None
