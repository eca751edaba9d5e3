"""Restarts a program of a stand when it exits, as the unit of docs/howto/install.md does."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from tests.stand import Stand

RESTART_SECONDS = 1.0
READY = "worker is ready"


@dataclass
class Supervisor:
    """Keeps a worker running inside the block; ``codes`` are those with which it exited, ``starts`` Unix times."""

    stand: Stand
    name: str = "worker"
    codes: list[int] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._start()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def kill(self) -> None:
        """Kill the worker, as soon as there is one."""
        restarts = len(self.codes)
        while len(self.codes) == restarts:
            with suppress(ProcessLookupError):
                os.kill(self.stand.processes[self.name].pid, signal.SIGKILL)
            time.sleep(0.005)

    def slowest_start(self) -> float:
        """Seconds that a worker took to get ready, at most: the measure of the machine."""
        lines = [json.loads(line) for line in self.stand.log(self.name).splitlines() if READY in line]
        ready = [datetime.fromisoformat(line["at"]).timestamp() for line in lines]
        return max(at - max(start for start in self.starts if start < at) for at in ready)

    def await_ready(self) -> None:
        """Wait for the next worker to get ready."""
        before = self.stand.log(self.name).count(READY)
        while self.stand.log(self.name).count(READY) == before:
            time.sleep(0.01)

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            code = self.stand.processes[self.name].poll()
            if code is None:
                continue
            self.codes.append(code)
            if not self._ended.wait(RESTART_SECONDS):
                self._start()

    def _start(self) -> None:
        self.starts.append(time.time())
        self.stand.start(self.name)
