"""The threads of the API: what waits for the database or a peer runs there, never in the event loop.

One pool serves a process, so its size bounds how many database connections and peer calls requests can cause at once.
A caller who sends or reads slowly holds no thread: bodies are received, and answers are sent, by the event loop.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import falcon

from shipyard_api.request_context import propagated

P = ParamSpec("P")
T = TypeVar("T")

USUAL_THREADS = 8

Responder = Callable[..., None]


class _Pool:
    """The pool of this process; its threads start when the first request needs them."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(USUAL_THREADS, thread_name_prefix="request")


_POOL = _Pool()


def use_threads(number: int) -> None:
    """Set the size of the pool, before the first request."""
    _POOL.executor = ThreadPoolExecutor(number, thread_name_prefix="request")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns, run in a thread under the context of this request."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_POOL.executor, partial(propagated(work), *args, **kwargs))


def threaded(responder: Responder) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return a responder that runs a synchronous one in a thread, and renders its JSON there."""

    @wraps(responder)
    async def respond(resource: object, req: falcon.Request, resp: falcon.Response, **params: str) -> None:
        await in_thread(_respond, partial(responder, resource, req, resp, **params), resp)

    return respond


async def answer_in_thread(resp: falcon.Response, work: Callable[[], None]) -> None:
    """Run the rest of a responder in a thread, and render its JSON there."""
    await in_thread(_respond, work, resp)


def _respond(work: Callable[[], None], resp: falcon.Response) -> None:
    work()
    if resp.media is not None:
        resp.data = json.dumps(resp.media, ensure_ascii=False).encode()
