"""One time for the engine and for a simulator in threads of the same process; it goes on only when a test says so.

A simulator that waits for a moment of this time is woken at exactly that moment, is let come to rest again, and only
then time goes on: a whole deployment takes as long as it takes to compute it, and is the same each time.
"""

import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shipyard_simulators.clock import Clock
from tests.fakes.clock import FakeClock


@dataclass
class _Waiting:
    """A thread of a simulator: what it waits for, and until when (None: until it is notified).

    It has looked at the time as often as it was ``called`` when ``answered`` is the same number.
    """

    thread: threading.Thread
    changed: threading.Condition
    until: datetime | None = None
    called: int = 0
    answered: int = 0


@dataclass
class VirtualClock(FakeClock):
    """A clock that stands still until somebody sets it on, with simulators that follow it."""

    _rested: threading.Condition = field(default_factory=threading.Condition)
    _waiting: dict[threading.Thread, _Waiting] = field(default_factory=dict)
    _moving: threading.RLock = field(default_factory=threading.RLock)

    def of_peers(self, ahead: float = 0.0) -> Clock:
        """Return this time as simulators read it, whose clocks are so many seconds ahead."""
        return _PeerClock(self, ahead)

    def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that falls due meanwhile."""
        with self._moving:
            end = self.at + timedelta(seconds=seconds)
            while True:
                due = self._next()
                if due is None or due > end:
                    break
                self._go_to(due)
            self._go_to(end)

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        """Wait, holding the condition, until it is notified or its time has come."""
        me = threading.current_thread()
        with self._rested:
            here = self._waiting.setdefault(me, _Waiting(me, changed))
            # Never early: a thread that is woken just before its moment would look, and wait once more.
            here.until = None if seconds is None else self.at + timedelta(seconds=seconds, microseconds=1)
            here.answered = here.called
            self._rested.notify_all()
        changed.wait()

    def _go_to(self, moment: datetime) -> None:
        super().advance(max((moment - self.at).total_seconds(), 0.0))

    def _next(self) -> datetime | None:
        """Return the next moment that somebody waits for, after each in turn has seen what time it is now."""
        with self._rested:
            waiting = list(self._waiting.values())
        moments = []
        for one in waiting:
            with one.changed:
                one.called += 1
                one.changed.notify_all()
            with self._rested:
                while one.answered < one.called and one.thread.is_alive():
                    self._rested.wait(0.01)
            if not one.thread.is_alive():
                del self._waiting[one.thread]
            elif one.until is not None:
                moments.append(one.until)
        return min(moments, default=None)


class _PeerClock(Clock):
    def __init__(self, clock: VirtualClock, ahead: float) -> None:
        super().__init__(1.0)
        self._clock = clock
        self._ahead = ahead

    def now(self) -> float:
        return self._clock.at.timestamp() + self._ahead

    def sleep(self, seconds: float) -> None:
        if seconds > 0:  # each answer of a simulator has a delay, which is none
            self._clock.advance(seconds)

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        self._clock.wait(changed, seconds)
