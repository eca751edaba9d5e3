"""Callers who wait for the end of an action: each holds a connection, and none a thread.

One task of an event loop looks for all of them, with one statement a second at most.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from shipyard_api.api.http.threads import in_thread
from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.errors import StoreUnavailable

MOST_WAITING = 500
"""As many callers may wait in one process; each caller holds a connection."""
LOOK_SECONDS = 1.0

_Futures = dict[ActionId, set["asyncio.Future[None]"]]


class TooManyWaiting(Exception):
    """No further caller may wait in this process."""


class EndedActions:
    """Wakes callers when their actions have ended. ``ended`` returns those of some actions that have."""

    def __init__(
        self,
        ended: Callable[[Collection[ActionId]], Collection[ActionId]],
        *,
        most: int = MOST_WAITING,
        seconds: float = LOOK_SECONDS,
    ) -> None:
        self._ended = ended
        self._most = most
        self._seconds = seconds
        self._places = 0
        # By event loop; a server has one.
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, _Futures] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = WeakKeyDictionary()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take a place among those who wait, before anything is begun for them; raises TooManyWaiting."""
        if self._places >= self._most:
            raise TooManyWaiting
        self._places += 1
        try:
            yield
        finally:
            self._places -= 1

    async def wait_for(self, action: ActionId) -> None:
        """Return when the action has ended. A caller who leaves is forgotten; the action goes on."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, {})
        future = loop.create_future()
        waiting.setdefault(action, set()).add(future)
        if (task := self._tasks.get(loop)) is None or task.done():
            self._tasks[loop] = loop.create_task(self._look(waiting))
        try:
            await future
        finally:
            futures = waiting.get(action, set())
            futures.discard(future)
            if not futures:
                waiting.pop(action, None)

    async def _look(self, waiting: _Futures) -> None:
        while waiting:
            try:
                ended = await in_thread(self._ended, list(waiting))
            except StoreUnavailable:
                ended = ()  # an outage: callers wait on
            except Exception as error:  # noqa: BLE001  # each of them answers as for any other bug
                _wake(waiting, list(waiting), error)
                return
            _wake(waiting, ended)
            await asyncio.sleep(self._seconds)


def _wake(waiting: _Futures, actions: Collection[ActionId], error: Exception | None = None) -> None:
    for action in actions:
        for future in waiting.pop(action, ()):
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
