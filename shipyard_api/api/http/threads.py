"""The threads of the API: what waits for the database or a peer runs there, never in the event loop.

One pool serves a process, so its size bounds how many database connections and peer calls requests can cause at once.
A caller who sends or reads slowly holds no thread: bodies are received, and answers are sent, by the event loop.
Work that may take seconds of processor time, by the size of a body or by a design, has a few threads of its own: while
it waits for its turn, other requests find a thread, and there are few others to share the processor with. So has work
that waits for Kubernetes or etcd: a peer that hangs delays nothing else. Listeners who catch up share one thread.
Where a process serves many sites, the work of one has at most half of the threads of each kind.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import falcon
import falcon.asgi

from shipyard_api.api.entities.entity import encoded
from shipyard_api.observing.request_context import propagated, site

P = ParamSpec("P")
T = TypeVar("T")

USUAL_THREADS = 8
_PEER_THREADS = 4
# More would take the interpreter from the event loop more often; one alone could wait for a peer for a minute.
COSTLY_THREADS = 2
_LARGE_BODY = 128 * 1024

Responder = Callable[..., None]
Read = Callable[[falcon.asgi.Request, int], Awaitable[bytes]]
"""Reads a body of at most so many bytes."""


class _Pool:
    """The pool of this process; its threads start when the first request needs them."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(USUAL_THREADS, thread_name_prefix="request")
        self.bodies = ThreadPoolExecutor(1, thread_name_prefix="large-body")
        self.designs = ThreadPoolExecutor(2, thread_name_prefix="design")
        self.peers = ThreadPoolExecutor(_PEER_THREADS, thread_name_prefix="peer")
        self.costly = ThreadPoolExecutor(COSTLY_THREADS, thread_name_prefix="costly")
        self.events = ThreadPoolExecutor(1, thread_name_prefix="events")


_POOL = _Pool()
# By event loop, as a semaphore belongs to one.
_SHARES: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[ThreadPoolExecutor, str], asyncio.Semaphore]]"
_SHARES = WeakKeyDictionary()


def use_threads(number: int) -> None:
    """Set the size of the pool, before the first request; as many threads at most wait for peers."""
    _POOL.executor = ThreadPoolExecutor(number, thread_name_prefix="request")
    _POOL.peers = ThreadPoolExecutor(min(number, _PEER_THREADS), thread_name_prefix="peer")
    _POOL.costly = ThreadPoolExecutor(min(number, COSTLY_THREADS), thread_name_prefix="costly")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns, run in a thread under the context of this request."""
    return await _run(_POOL.executor, partial(work, *args, **kwargs))


async def in_events_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns, run in the one thread of those who catch up with events."""
    return await _run(_POOL.events, partial(work, *args, **kwargs))


def start_costly(work: Callable[[], None]) -> None:
    """Run the work, which may take seconds of processor time and wait for a peer, when it is its turn."""
    _POOL.costly.submit(work)


async def parsed(parse: Callable[[bytes], T], body: bytes) -> T:
    """Return a body that is parsed in a thread; large bodies in sequence."""
    return await _run(_POOL.executor if len(body) < _LARGE_BODY else _POOL.bodies, partial(parse, body))


def _threaded(pool: str, read: Read | None = None) -> Callable[[Responder], Callable[..., Coroutine[Any, Any, None]]]:
    """Return what makes a responder of a synchronous one, which runs in a thread of a pool and has its JSON rendered
    there. ``read``: reads the body, of at most ``limit`` of the resource, which the synchronous one takes.
    """

    def decorated(responder: Responder) -> Callable[..., Coroutine[Any, Any, None]]:
        @wraps(responder)
        async def respond(resource: Any, req: falcon.asgi.Request, resp: falcon.Response, **params: str) -> None:
            sent = [await read(req, resource.limit)] if read else []
            work = partial(responder, resource, req, resp, *sent, **params)
            await _run(getattr(_POOL, pool), partial(rendered, work, resp))

        return respond

    return decorated


threaded, threaded_design, threaded_peer = _threaded("executor"), _threaded("designs"), _threaded("peers")
"""For what may have to render a design, and for what waits for peers, which may take a minute to fail."""


def threaded_body(read: Read) -> Callable[[Responder], Callable[..., Coroutine[Any, Any, None]]]:
    """Return what makes responders as ``threaded`` does of those that take the body."""
    return _threaded("executor", read)


async def in_peer_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns, as ``in_thread`` does; such work may wait for a peer."""
    return await _run(_POOL.peers, partial(work, *args, **kwargs))


async def answer_in_thread(resp: falcon.Response, work: Callable[[], None]) -> None:
    """Run the rest of a responder in a thread, and render its JSON there."""
    await in_thread(rendered, work, resp)


async def _run(executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    async with _share(loop, executor):
        return await loop.run_in_executor(executor, propagated(work))


def _share(loop: asyncio.AbstractEventLoop, executor: ThreadPoolExecutor) -> AbstractAsyncContextManager[None]:
    """Return what bounds the work of one site to half of the threads; the work of the only site has all."""
    if not (name := site()):
        return nullcontext()
    shares = _SHARES.setdefault(loop, {})
    half = max(1, executor._max_workers // 2)
    return shares.setdefault((executor, name), asyncio.Semaphore(half))


def rendered(work: Callable[[], None], resp: falcon.Response) -> None:
    """Run the rest of a responder in this thread, and render its JSON."""
    work()
    if resp.media is not None:
        resp.data = encoded(resp.media)
