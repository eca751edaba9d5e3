"""Plans and forecasts: a single answer may take seconds of processor time, which must not delay other callers.

Each process runs few of them at a time, and one for each caller. Callers wait in turn, and a caller who has used its
processor time is refused before the work starts, until its share has grown back. Callers who use more than a little are
served by a second process, which ends when its caller leaves. Where a process serves many sites, one of them has at
most half of everything, and one that has used little is not refused for what the others use.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import LifoQueue

import falcon
import falcon.asgi
from msgspec import Struct, field

from shipyard_api.api.airship.errors import ServiceBusy, TooMuchWork
from shipyard_api.api.http.limits import LEFT
from shipyard_api.api.http.second_process import Asked, SecondProcess, SecondProcessLost
from shipyard_api.api.http.threads import COSTLY_THREADS, rendered, start_costly
from shipyard_api.observing.request_context import marker, propagated, site

Clock = Callable[[], float]
Work = Callable[[], float | None]
"""Returns the processor seconds that it used elsewhere than in its thread, if any."""

_SOON = 1.0
# Below this, forgetting a caller gives away nothing.
_FORGOTTEN = 0.1
# Above this, in processor seconds, the second process has the work: an operator's few plans do not start it.
_LITTLE = 0.3


class Bounds(Struct, frozen=True):
    """What may be used of a process.

    ``pieces``: work that runs or waits. ``burst``: processor seconds at once. ``share``: processor seconds a second.
    """

    pieces: int
    burst: float
    share: float

    def half(self) -> "Bounds":
        """Return the bounds of one site among several."""
        return Bounds(self.pieces // 2, self.burst / 2, self.share / 2)


CALLER = Bounds(pieces=4, burst=10.0, share=0.2)
ALL = Bounds(pieces=16, burst=20.0, share=0.5)
UNBOUNDED = Bounds(pieces=1_000_000, burst=1e9, share=1.0)


class _Account(Struct):
    """The work of one caller, of one site, or of all; ``most`` pieces of it run at a time.

    ``used``: processor seconds, less what has grown back since. ``pieces``: run or wait.
    """

    bounds: Bounds
    most: int
    at: float
    used: float = 0.0
    pieces: int = 0
    running: int = 0
    waiting: deque["_Piece"] = field(default_factory=deque)

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


class _Piece(Struct, frozen=True):
    """``accounts``: its caller's and its site's. ``elsewhere``: the same work in a second process, if there is one."""

    accounts: tuple[_Account, ...]
    future: Future[None]
    work: Work
    elsewhere: Work | None


class CostlyWork:
    """Runs the costly work of a process. ``processor``: the processor seconds that the current thread has used.

    ``seconds``: processes for callers who use much; without any, all work is done in this one.
    """

    def __init__(
        self,
        caller: Bounds = CALLER,
        everyone: Bounds = ALL,
        *,
        seconds: Sequence[SecondProcess] = (),
        clock: Clock = time.monotonic,
        processor: Clock = time.thread_time,
    ) -> None:
        self._caller = caller
        self._everyone = everyone
        self._all = _Account(everyone, COSTLY_THREADS, 0.0)
        # The one that answered last answers next: the others end when they are idle.
        self._seconds: LifoQueue[SecondProcess] = LifoQueue()
        for second in seconds:
            self._seconds.put(second)
        self._beside = ThreadPoolExecutor(len(seconds), thread_name_prefix="second-process") if seconds else None
        self._callers: dict[tuple[str, str], _Account] = {}
        self._sites: dict[str, _Account] = {}
        self._lock = threading.Lock()
        self._clock = clock
        self._processor = processor

    def start(self, caller: str, work: Work, elsewhere: Work | None = None) -> Future[None]:
        """Run the work after the caller's earlier pieces. Raises TooMuchWork and ServiceBusy before it starts.

        ``elsewhere``: does the same in a second process, for a caller or a site that has used much.
        """
        future: Future[None] = Future()
        with self._lock:
            piece = _Piece(self._admit(caller), future, work, elsewhere)
            for account in (*piece.accounts, self._all):
                account.pieces += 1
            self._enter(piece, piece.accounts)
        return future

    def admit(self, req: falcon.Request) -> None:
        """Raise TooMuchWork or ServiceBusy if ``answer`` would do so now; for responders, before they read a body."""
        with self._lock:
            self._admit(req.context.caller.key)

    async def answer(
        self, req: falcon.asgi.Request, resp: falcon.Response, responder: Callable[[], None], body: bytes = b""
    ) -> None:
        """Run the rest of a responder, as ``answer_in_thread`` does, within the bounds of its caller.

        ``body``: of the request, all of it. The same responder may run in a second process instead, which ends if the
        caller leaves meanwhile.
        """
        is_over = threading.Event()
        has_closed: Callable[[], bool] = req.scope.get("extensions", {}).get(LEFT, lambda: False)

        def has_left() -> bool:
            return is_over.is_set() or has_closed()

        here = partial(rendered, responder, resp)
        beside = partial(self._ask_second, Asked.of(req, body, marker()), resp, here, has_left)
        future = self.start(req.context.caller.key, propagated(here), propagated(beside))
        try:
            await asyncio.wrap_future(future)
        finally:
            is_over.set()

    def _ask_second(
        self, asked: Asked, resp: falcon.Response, here: Callable[[], None], has_left: Callable[[], bool]
    ) -> float | None:
        if has_left():  # while it waited
            raise ServiceBusy(_SOON)
        second = self._seconds.get()
        try:
            answered = second.ask(asked, has_left)
        except SecondProcessLost as error:
            raise ServiceBusy(_SOON) from error
        finally:
            self._seconds.put(second)
        if answered is None:  # it is starting
            here()
            return None
        answered.give(resp)
        return answered.seconds

    def _admit(self, caller: str) -> tuple[_Account, ...]:
        now, name = self._clock(), site()
        self._callers = {key: account for key, account in self._callers.items() if not account.is_idle(now)}
        self._sites = {key: account for key, account in self._sites.items() if not account.is_idle(now)}
        if name:
            of_site = self._sites.setdefault(name, _Account(self._everyone.half(), COSTLY_THREADS // 2, now))
        else:
            of_site = self._sites.setdefault(name, _Account(self._everyone, COSTLY_THREADS, now))
        account = self._callers.setdefault((name, caller), _Account(self._caller, 1, now))
        if (pause := account.pause(now)) is not None:
            raise TooMuchWork(pause)
        if (pause := of_site.pause(now)) is not None:
            raise ServiceBusy(pause)
        if of_site.is_heavy(now) and (pause := self._all.pause(now)) is not None:
            raise ServiceBusy(pause)
        return account, of_site

    def _enter(self, piece: _Piece, accounts: tuple[_Account, ...]) -> None:
        """Start the piece, or let it wait where as many run as may. ``accounts``: those whose turn it does not have."""
        for account in accounts:
            if account.running >= account.most:
                account.waiting.append(piece)
                return
            account.running += 1
        now = self._clock()
        if piece.elsewhere and self._beside and any(account.is_heavy(now) for account in piece.accounts):
            self._beside.submit(self._run, piece, piece.elsewhere)
        else:
            start_costly(partial(self._run, piece, piece.work))

    def _leave(self, piece: _Piece) -> None:
        """Give the turn to those who wait: to other callers first."""
        for account in piece.accounts:
            account.running -= 1
        for place, account in reversed(list(enumerate(piece.accounts, 1))):
            if account.waiting:
                account.running += 1
                self._enter(account.waiting.popleft(), piece.accounts[place:])

    def _run(self, piece: _Piece, work: Work) -> None:
        is_wanted = piece.future.set_running_or_notify_cancel()
        began, since, elsewhere, failure = self._processor(), self._clock(), None, None
        try:
            if is_wanted:
                elsewhere = work()
        except BaseException as error:  # noqa: BLE001  # the responder's, for the one who waits for the future
            failure = error
            if work is piece.elsewhere:  # a process that was ended no longer reports its use
                elsewhere = self._clock() - since
        with self._lock:
            used, now = self._processor() - began + (elsewhere or 0.0), self._clock()
            for account in (*piece.accounts, self._all):
                account.spend(used, now)
            self._leave(piece)
        if failure is not None:
            piece.future.set_exception(failure)
        elif is_wanted:
            piece.future.set_result(None)
