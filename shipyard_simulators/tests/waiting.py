"""Time in tests: a clock that only the test moves, and waiting for programs and threads in real time."""

import time
from collections.abc import Callable
from threading import Barrier, Condition, Lock
from typing import TypeVar

from shipyard_simulators.clock import Clock

PATIENCE = 600.0
"""Seconds that nothing takes, even on a slow machine beside other work: after them a test that would hang fails."""

T = TypeVar("T")


def until(happened: Callable[[], object]) -> None:
    """Wait in real time until the function returns something true."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


class VirtualClock(Clock):
    """A clock that stands still until it is moved, in seconds. Sleeping moves it, and takes no time."""

    def __init__(self, time_scale: float = 1) -> None:
        super().__init__(time_scale)
        self.moment = time.time()
        self.slept: list[float] = []
        self._lock = Lock()

    def now(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passes(seconds)

    def wait(self, changed: Condition, seconds: float | None) -> None:
        changed.wait()  # for the next request

    def passes(self, seconds: float) -> None:
        with self._lock:
            self.moment += seconds

    def until(self, happened: Callable[[], T], *, step: float = 10, patience: float = 20_000) -> T:
        """Move the clock in steps until the function returns something true, and return that."""
        end = self.moment + patience
        while not (found := happened()):
            assert self.moment < end, "it never happened"
            self.passes(step)
        return found


class MeetingClock(VirtualClock):
    """A clock whose sleepers go on only together: once this many of them sleep."""

    def __init__(self, sleepers: int) -> None:
        super().__init__()
        self._barrier = Barrier(sleepers)

    def sleep(self, seconds: float) -> None:
        if seconds:
            self._barrier.wait(PATIENCE)
