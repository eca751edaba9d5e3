"""All event streams of a process: one reader of the journal, woken by one LISTEN, hands each entry to its listeners.

A listener holds a socket and no thread. What waits for it is shared by all and bounded: one who falls behind is handed
nothing more, and reads from the database again until it has caught up.
"""

import asyncio
import json
import logging
import random
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import aclosing
from functools import lru_cache
from typing import Any

import falcon.asgi

from shipyard_api.api.http.threads import in_events_thread, in_thread
from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.journal import ActionEntry, EventFormat
from shipyard_api.ports.wakeup import JournalNotices
from shipyard_api.usecases.journal.follow import FollowJournal, as_cloud_event, as_fields

RETRY_MS = 2000
_FIELDS = {EventFormat.SHIPYARD: as_fields, EventFormat.CLOUDEVENTS: as_cloud_event}


class Block(falcon.asgi.SSEvent):
    """A part of a stream that is bytes already, since many listeners get the same."""

    def __init__(self, block: bytes) -> None:
        super().__init__()
        self.block = block

    def serialize(self, handler: Any = None) -> bytes:
        """Return the bytes."""
        return self.block


def first(cursor: int) -> Block:
    """Return the beginning of a stream: the caller knows its cursor before there is an event."""
    return Block(f"retry: {RETRY_MS}\nid: {cursor}\n\n".encode())


def heartbeat(cursor: int) -> bytes:
    """Return a comment that keeps the connection alive, with the cursor: other actions may have moved it on."""
    return f": heartbeat\nid: {cursor}\n\n".encode()


def event(action_entry: ActionEntry, written: EventFormat) -> bytes:
    """Return an entry as an event, whose data has this form."""
    data = json.dumps(_FIELDS[written](action_entry), ensure_ascii=False)
    return f"id: {action_entry.entry.id}\nevent: {action_entry.entry.kind}\ndata: {data}\n\n".encode()


LOG = logging.getLogger(__name__)

HEARTBEAT = 15.0
# Seconds until a stream ends and its caller, who comes back with the cursor, is authenticated again.
LIFETIME = 900.0
MOST_LISTENERS = 1500
# Bytes that wait for one listener; its connection holds 32 kB more.
MOST_WAITING = 32 * 1024
# Seconds between two checks whether the process is being stopped, and who is due for a heartbeat.
_TICK = 1.0
# Listeners woken before other tasks of the event loop run.
_SLICE = 25
# Listeners that return after a restart read the same pages: a page of all actions ends at a multiple of this many ids.
_PAGE_IDS, _KEPT_PAGES = 256, 16
# Seconds between two looks at entries behind a transaction under way: if it is rolled back, no notice comes.
_HELD_BACK = 0.2
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


# Of a format and an action, None for all actions.
_Blocks = Mapping[tuple[EventFormat, ActionId | None], bytes]


class TooManyListeners(Exception):
    """No further listener can be served by this process."""


class _Listener:
    """``cursor``: the end of what was handed to the connection. ``heartbeat_at``: the latest time of the next line."""

    __slots__ = ("action", "cursor", "format", "heartbeat_at", "size", "waiting", "woken")

    def __init__(self, action: ActionId | None, cursor: int, written: EventFormat) -> None:
        self.action = action
        self.format = written
        self.cursor = cursor
        self.heartbeat_at = 0.0
        self.waiting: deque[bytes] = deque()
        self.size = 0
        self.woken = asyncio.Event()

    def offer(self, block: bytes) -> bool:
        """Queue a block, and say whether there was room; without it, nothing waits any more."""
        if self.waiting and self.size + len(block) > MOST_WAITING:
            self.take()
            return False
        self.waiting.append(block)
        self.size += len(block)
        return True

    def take(self) -> bytes:
        """Return what waits."""
        block = b"".join(self.waiting)
        self.waiting.clear()
        self.size = 0
        self.woken.clear()
        return block


class Hub:
    """The streams of one event loop. ``heartbeat`` and ``lifetime`` are seconds."""

    def __init__(
        self,
        follow: FollowJournal,
        notices: JournalNotices,
        *,
        heartbeat: float = HEARTBEAT,
        lifetime: float = LIFETIME,
        most: int = MOST_LISTENERS,
    ) -> None:
        self._follow = follow
        self._notices = notices
        self._heartbeat = heartbeat
        self._lifetime = lifetime
        self._most = most
        self._position = 0
        self._listeners: set[_Listener] = set()
        # Those who were handed everything up to the position.
        self._live: set[_Listener] = set()
        self._missed_page = lru_cache(_KEPT_PAGES)(self._read_page)
        self._tasks: list[asyncio.Task[None]] = []

    async def open(
        self,
        action: ActionId | None,
        after: int | None,
        serving: Callable[[], bool] = lambda: True,
        written: EventFormat = EventFormat.SHIPYARD,
    ) -> AsyncIterator[Block]:
        """Return a stream of the entries behind a cursor; None: of those from now on.

        ``serving`` says whether the process goes on. Raises TooManyListeners, ActionNotFound and StoreUnavailable.
        """
        if len(self._listeners) >= self._most:
            raise TooManyListeners
        if action is not None:
            await in_thread(self._follow.check, action)
        await self._start(serving)
        # A cursor beyond the end is of entries that a fail-over has lost.
        cursor = self._position if after is None else min(after, self._position)
        return self._stream(_Listener(action, cursor, written))

    async def _stream(self, listener: _Listener) -> AsyncIterator[Block]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._lifetime * random.uniform(0.9, 1.0)  # noqa: S311  # not all at the same time
        self._listeners.add(listener)
        try:
            yield first(listener.cursor)
            while self._tasks and (now := loop.time()) < end:
                if listener not in self._live:
                    block = await self._missed(listener)
                elif not listener.woken.is_set():
                    listener.heartbeat_at = min(end, now + self._heartbeat)
                    await listener.woken.wait()
                    continue
                else:
                    block, listener.cursor = listener.take(), self._position
                    block = block or heartbeat(listener.cursor)
                if block:
                    yield Block(block)
        except StoreUnavailable:
            return  # the caller comes back with its cursor
        finally:
            self._leave(listener)

    async def _missed(self, listener: _Listener) -> bytes:
        """Return a page of what the listener has missed; a listener that is up to date is live from now on."""
        if listener.cursor >= self._position:
            self._live.add(listener)
            return b""
        until = self._position
        if listener.action is None:
            until = min(until, (listener.cursor // _PAGE_IDS + 1) * _PAGE_IDS)
        block, listener.cursor = await in_events_thread(
            self._missed_page, listener.cursor, until, listener.action, listener.format
        )
        return block

    def _read_page(self, after: int, until: int, action: ActionId | None, written: EventFormat) -> tuple[bytes, int]:
        page = self._follow.page(after, until, action)
        return b"".join(event(entry, written) for entry in page.entries), page.until

    def _leave(self, listener: _Listener) -> None:
        self._listeners.discard(listener)
        self._live.discard(listener)
        if not self._listeners:
            self._stop()

    async def _start(self, serving: Callable[[], bool]) -> None:
        if any(not task.done() for task in self._tasks):
            return
        settled = (await in_thread(self._follow.ends)).settled
        if all(task.done() for task in self._tasks):
            self._position = settled
            self._live.clear()
            self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._watch(serving))]

    def _stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for listener in self._listeners:
            listener.woken.set()

    async def _watch(self, serving: Callable[[], bool]) -> None:
        """Let each listener hear of us, and end all streams when the process is being stopped."""
        loop, pause = asyncio.get_running_loop(), min(_TICK, self._heartbeat)
        while serving():
            now = loop.time()
            await _wake([listener for listener in self._live if listener.heartbeat_at <= now])
            await asyncio.sleep(pause)
        self._stop()

    async def _read(self) -> None:
        """Hand over new entries whenever there is a notice; wait for a database that has gone."""
        pause = _SHORTEST_PAUSE
        while True:
            try:
                async with aclosing(self._notices(every=self._heartbeat)) as notices:
                    async for _ in notices:
                        await self._news()
                        pause = _SHORTEST_PAUSE
            except StoreUnavailable as error:
                LOG.warning("events wait for the database", extra={"trouble": str(error)})
            except Exception:
                LOG.exception("reading events broke")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _news(self) -> None:
        while True:
            ends = await in_thread(self._follow.ends)
            while self._position < ends.settled:
                formats = {listener.format for listener in self._listeners}
                blocks, until = await in_thread(self._blocks, self._position, ends.settled, formats)
                await _wake(self._hand_over(blocks, formats, until))
            if ends.last <= ends.settled:
                return
            await asyncio.sleep(_HELD_BACK)

    def _blocks(self, after: int, until: int, formats: Collection[EventFormat]) -> tuple[_Blocks, int]:
        """Return new events in each format, of each action and of all, and the cursor behind them."""
        page = self._follow.page(after, until)
        blocks: dict[tuple[EventFormat, ActionId | None], list[bytes]] = defaultdict(list)
        for written in formats:
            for entry in page.entries:
                block = event(entry, written)
                blocks[written, entry.action].append(block)
                blocks[written, None].append(block)
        return {key: b"".join(events) for key, events in blocks.items()}, page.until

    def _hand_over(self, blocks: _Blocks, formats: Collection[EventFormat], until: int) -> list[_Listener]:
        """Give each listener its part, and return those to wake; nothing else of the event loop runs meanwhile.

        The first listener of a format that came while the blocks were written reads from the database.
        """
        self._position = until
        given = {
            listener: blocks[listener.format, listener.action]
            for listener in self._live
            if (listener.format, listener.action) in blocks
        }
        late = {listener for listener in self._live if listener.format not in formats}
        self._live -= late | {listener for listener, block in given.items() if not listener.offer(block)}
        return [*given, *late]


async def _wake(listeners: Iterable[_Listener]) -> None:
    for number, listener in enumerate(listeners):
        listener.woken.set()
        if number % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
