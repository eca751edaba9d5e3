"""Which connections are kept, for how long, and what an application learns of its own; timers are only kept."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.workers import gasgi

from shipyard_api.adapters.gunicorn.connection import LEFT, SERVING, BoundedConnection, use_bounded_connections

REQUEST = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
UPLOAD = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"


class Loop:
    """The running loop, whose timers are only kept."""

    def __init__(self) -> None:
        self.timers: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio.get_running_loop(), name)

    def call_later(self, seconds: float, work: Any, *args: Any) -> Any:
        timer = SimpleNamespace(seconds=seconds, work=work, on=True)
        timer.cancel = lambda: setattr(timer, "on", False)
        self.timers.append(timer)
        return timer


class Worker(SimpleNamespace):
    """A worker whose application answers once ``goes_on`` is set; ``scopes``: of its requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, connections: int = 9) -> None:
        monkeypatch.setattr(gasgi, "ASGIProtocol", gasgi.ASGIProtocol)
        monkeypatch.setattr(BoundedConnection, "head_seconds", 0.0, raising=False)
        log = SimpleNamespace(access_log_enabled=False, debug=print, info=print, error=print, exception=print)
        cfg = Config()
        cfg.set("worker_connections", connections)
        super().__init__(
            cfg=cfg, log=log, loop=Loop(), nr_conns=0, nr=0, max_requests=99, alive=True, ended=[], ends=[]
        )
        self.asgi, self.scopes, self.goes_on = self._answer, list[Any](), asyncio.Event()
        self.servers = [SimpleNamespace(close=lambda: self.ended.append("server"))]
        self._shutdown = self._stop
        use_bounded_connections(self, 4.0)

    async def _stop(self) -> None:
        self.ended.append("worker")

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        while (await receive()).get("more_body"):
            pass
        await self.goes_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def caller(self, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        ours, theirs = socket.socketpair()
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: gasgi.ASGIProtocol(self), sock=ours)
        reader, writer = await asyncio.open_connection(sock=theirs)
        self.ends += [transport.abort, writer.close]
        writer.write(sent)
        await turns()
        return reader, writer

    @property
    def heads(self) -> list[bool]:
        """Of each wait for a head, whether it goes on."""
        return [timer.on for timer in self.loop.timers if timer.seconds == 4.0]


def play(story: Callable[[Worker], Awaitable[None]], monkeypatch: pytest.MonkeyPatch, **options: int) -> None:
    async def run() -> None:
        worker = Worker(monkeypatch, **options)
        try:
            await story(worker)
        finally:
            for end in worker.ends:
                end()
            await turns()

    asyncio.run(run())


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_the_head_of_each_request_must_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(worker: Worker) -> None:
        worker.goes_on.set()
        reader, writer = await worker.caller()
        (connection,) = worker.open_connections
        assert connection.transport.max_size == connection.transport.get_write_buffer_limits()[1] == 32 * 1024
        assert worker.heads == [True]
        writer.write(REQUEST[:9])
        await turns()
        writer.write(REQUEST[9:])
        await reader.readuntil(b"ok")
        assert worker.heads == [False]
        writer.write(REQUEST[:9])
        await turns()
        assert worker.heads == [False, True]
        worker.loop.timers[-1].work()
        assert await reader.read() == b""
        await turns()
        assert (worker.heads, worker.nr_conns) == ([False, False], 0)
        (scope,) = worker.scopes
        assert (scope["server"], scope["client"]) == (None, None)  # of a unix socket

    play(story, monkeypatch)


def test_a_connection_too_many_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(worker: Worker) -> None:
        worker.goes_on.set()
        kept, writer = await worker.caller()
        refused, _ = await worker.caller()
        assert await refused.read() == b""
        writer.write(REQUEST)
        await kept.readuntil(b"ok")

    play(story, monkeypatch, connections=1)


def test_who_closes_their_half_gets_the_answer_and_the_application_learns_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(worker: Worker) -> None:
        reader, writer = await worker.caller(UPLOAD)
        (scope,) = worker.scopes
        assert (scope["extensions"][LEFT](), scope["extensions"][SERVING]()) == (False, True)
        writer.write_eof()
        await turns()
        assert scope["extensions"][LEFT]()
        worker.goes_on.set()
        assert (await reader.read()).endswith(b"ok")  # and it is not kept for another request
        await turns()
        assert scope["extensions"][LEFT]()
        idle, writer = await worker.caller()
        writer.write_eof()
        assert await idle.read() == b""

    play(story, monkeypatch)


def test_a_worker_that_ends_waits_for_requests_and_for_no_idle_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(worker: Worker) -> None:
        worker.goes_on.set()
        new, idle, half = [await worker.caller(sent) for sent in (b"", REQUEST, REQUEST[:9])]
        await idle[0].readuntil(b"ok")
        worker.goes_on.clear()
        busy, _ = await worker.caller(REQUEST)
        await worker._shutdown()
        assert worker.ended == ["server", "worker"]
        assert [await reader.read() for reader, _ in (new, idle)] == [b"", b""]
        half[1].write(REQUEST[9:])
        worker.goes_on.set()
        for reader in (half[0], busy):
            await reader.readuntil(b"ok")

    play(story, monkeypatch)
