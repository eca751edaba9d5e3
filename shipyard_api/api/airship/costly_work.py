"""Plans and forecasts: a single answer may take seconds of processor time, which must not delay other callers.

Each process runs few of them at a time, and one for each caller. Callers wait in turn, and a caller who has used its
processor time is refused before the work starts, until its share has grown back. Callers who use more than a little are
served by a second process.
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
import falcon.asgi

from shipyard_api.api.airship.errors import ServiceBusy, TooMuchWork
from shipyard_api.api.http.second_process import Asked, SecondProcess, SecondProcessLost
from shipyard_api.api.http.threads import rendered, start_costly
from shipyard_api.request_context import marker, propagated

Clock = Callable[[], float]
Work = Callable[[], float | None]
"""Returns the processor seconds that it used elsewhere than in its thread, if any."""

_SOON = 1.0
# Below this, forgetting a caller gives away nothing.
_FORGOTTEN = 0.1
# Above this, in processor seconds, the second process has the work: an operator's few plans do not start it.
_LITTLE = 0.3


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
UNBOUNDED = Bounds(pieces=1_000_000, burst=1e9, share=1.0)


@dataclass(slots=True)
class _Account:
    """The work of one caller, or of all. ``used``: processor seconds, less what has grown back since."""

    bounds: Bounds
    used: float = 0.0
    at: float = 0.0
    pieces: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque)

    def is_heavy(self, now: float) -> bool:
        """Return whether more than a little has been used lately."""
        self._settle(now)
        return self.used > _LITTLE

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
    """Runs the costly work of a process. ``processor``: the processor seconds that the current thread has used.

    ``second``: the process for callers who use much; None: all work is done in this one.
    """

    def __init__(
        self,
        caller: Bounds = CALLER,
        everyone: Bounds = ALL,
        *,
        second: SecondProcess | None = None,
        clock: Clock = time.monotonic,
        processor: Clock = time.thread_time,
    ) -> None:
        self._caller = caller
        self._all = _Account(everyone)
        self._second = second
        self._accounts: dict[str, _Account] = {}
        self._lock = threading.Lock()
        self._clock = clock
        self._processor = processor

    def start(self, caller: str, work: Work) -> Future[None]:
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

    async def answer(
        self, req: falcon.asgi.Request, resp: falcon.Response, responder: Callable[[], None], body: bytes = b""
    ) -> None:
        """Run the rest of a responder, as ``answer_in_thread`` does, within the bounds of its caller.

        ``body``: of the request, all of it. The same responder may run in the second process instead.
        """
        work = propagated(partial(self._answer, req, resp, responder, body))
        await asyncio.wrap_future(self.start(req.context.caller.key, work))

    def _answer(
        self, req: falcon.asgi.Request, resp: falcon.Response, responder: Callable[[], None], body: bytes
    ) -> float | None:
        if self._second is not None and self._is_heavy(req.context.caller.key):
            try:
                answered = self._second.ask(Asked.of(req, body, marker()))
            except SecondProcessLost as error:
                raise ServiceBusy(_SOON) from error
            if answered is not None:
                answered.give(resp)
                return answered.seconds
        rendered(responder, resp)
        return None

    def _is_heavy(self, caller: str) -> bool:
        with self._lock:
            return any(account.is_heavy(self._clock()) for account in (self._accounts[caller], self._all))

    def _admit(self, caller: str) -> _Account:
        now = self._clock()
        for name in [name for name, caller in self._accounts.items() if caller.is_idle(now)]:
            del self._accounts[name]
        account = self._accounts.setdefault(caller, _Account(self._caller, at=now))
        if (pause := account.pause(now)) is not None:
            raise TooMuchWork(pause)
        if (pause := self._all.pause(now)) is not None:
            raise ServiceBusy(pause)
        return account

    def _run(self, account: _Account, future: Future[None], work: Work) -> None:
        is_wanted = future.set_running_or_notify_cancel()
        began, elsewhere, failure = self._processor(), None, None
        try:
            if is_wanted:
                elsewhere = work()
        except BaseException as error:  # noqa: BLE001  # the responder's, for the one who waits for the future
            failure = error
        with self._lock:
            used, now = self._processor() - began + (elsewhere or 0.0), self._clock()
            account.spend(used, now)
            self._all.spend(used, now)
            if account.waiting:
                # At the end of the queue: the other callers are served first.
                start_costly(account.waiting.popleft())
        if failure is not None:
            future.set_exception(failure)
        elif is_wanted:
            future.set_result(None)
