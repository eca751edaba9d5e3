"""Plans and forecasts: a single answer may take seconds of processor time, which must not delay other callers.

Each process runs few of them at a time, and one for each caller. Callers wait in turn, and a caller who has used its
processor time is refused before the work starts, until its share has grown back.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

import falcon

from shipyard_api.api.airship.errors import ServiceBusy, TooMuchWork
from shipyard_api.api.http.threads import rendered, start_costly
from shipyard_api.request_context import propagated

Clock = Callable[[], float]

_SOON = 1.0
# Below this, forgetting a caller gives away nothing.
_FORGOTTEN = 0.1


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may be used of a process.

    ``pieces``: work that runs or waits. ``burst``: processor seconds at once. ``share``: processor seconds a second.
    """

    pieces: int
    burst: float
    share: float


CALLER = Bounds(pieces=4, burst=10.0, share=0.2)
ALL = Bounds(pieces=16, burst=20.0, share=0.5)


@dataclass(slots=True)
class _Account:
    """The work of one caller, or of all. ``used``: processor seconds, less what has grown back since."""

    bounds: Bounds
    used: float = 0.0
    at: float = 0.0
    pieces: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque)

    def pause(self, now: float) -> float | None:
        """Return None if a further piece may start, else the seconds after which to ask again."""
        self._settle(now)
        if self.used >= self.bounds.burst:
            return (self.used - self.bounds.burst) / self.bounds.share
        return _SOON if self.pieces >= self.bounds.pieces else None

    def spend(self, seconds: float, now: float) -> None:
        self._settle(now)
        self.used += seconds
        self.pieces -= 1

    def is_idle(self, now: float) -> bool:
        self._settle(now)
        return not self.pieces and self.used < _FORGOTTEN

    def _settle(self, now: float) -> None:
        self.used = max(0.0, self.used - (now - self.at) * self.bounds.share)
        self.at = now


class CostlyWork:
    """Runs the costly work of a process. ``processor``: the processor seconds that the current thread has used."""

    def __init__(
        self,
        caller: Bounds = CALLER,
        everyone: Bounds = ALL,
        *,
        clock: Clock = time.monotonic,
        processor: Clock = time.thread_time,
    ) -> None:
        self._caller = caller
        self._all = _Account(everyone)
        self._accounts: dict[str, _Account] = {}
        self._lock = threading.Lock()
        self._clock = clock
        self._processor = processor

    def start(self, caller: str, work: Callable[[], None]) -> Future[None]:
        """Run the work after the caller's earlier pieces. Raises TooMuchWork and ServiceBusy before it starts."""
        future: Future[None] = Future()
        with self._lock:
            account = self._admit(caller)
            account.pieces += 1
            self._all.pieces += 1
            account.waiting.append(partial(self._run, account, future, work))
            if account.pieces == 1:
                start_costly(account.waiting.popleft())
        return future

    def admit(self, req: falcon.Request) -> None:
        """Raise TooMuchWork or ServiceBusy if ``answer`` would do so now; for responders, before they read a body."""
        with self._lock:
            self._admit(req.context.caller.key)

    async def answer(self, req: falcon.Request, resp: falcon.Response, responder: Callable[[], None]) -> None:
        """Run the rest of a responder, as ``answer_in_thread`` does, within the bounds of its caller."""
        await asyncio.wrap_future(self.start(req.context.caller.key, propagated(partial(rendered, responder, resp))))

    def _admit(self, caller: str) -> _Account:
        now = self._clock()
        for name in [name for name, one in self._accounts.items() if one.is_idle(now)]:
            del self._accounts[name]
        account = self._accounts.setdefault(caller, _Account(self._caller, at=now))
        if (pause := account.pause(now)) is not None:
            raise TooMuchWork(pause)
        if (pause := self._all.pause(now)) is not None:
            raise ServiceBusy(pause)
        return account

    def _run(self, account: _Account, future: Future[None], work: Callable[[], None]) -> None:
        is_wanted = future.set_running_or_notify_cancel()
        began, failure = self._processor(), None
        try:
            if is_wanted:
                work()
        except BaseException as error:  # noqa: BLE001  # the responder's, for the one who waits for the future
            failure = error
        with self._lock:
            used, now = self._processor() - began, self._clock()
            account.spend(used, now)
            self._all.spend(used, now)
            if account.waiting:
                # At the end of the queue: the other callers are served first.
                start_costly(account.waiting.popleft())
        if failure is not None:
            future.set_exception(failure)
        elif is_wanted:
            future.set_result(None)
