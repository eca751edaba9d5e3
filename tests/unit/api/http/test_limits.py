"""How long a caller may take for a body and for an answer, and in what pieces an answer goes out."""

import asyncio
from typing import Any

from shipyard_api.api.http.limits import (
    ABORT,
    AUTHENTICATED,
    PIECE,
    STREAM,
    CallerLimits,
    Message,
    Receive,
    Scope,
    Send,
)

BODY = [(b"content-length", b"9")]
SOON, NEVER = 0.001, 600.0


def ask(app: Any, *, headers: Any = (), body: float = NEVER, answer: float = NEVER, **server: Any) -> list[Message]:
    """Serve one request and return what was sent; ``server`` may replace ``receive`` and ``send``."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "path": "/", "headers": list(headers), "extensions": {ABORT: sent.append}}
    scope["extensions"][ABORT] = lambda: sent.append({"type": "abort"})
    limited = CallerLimits(app, body=body, answer=answer)
    asyncio.run(limited(scope, server.get("receive", receive), server.get("send", send)))
    return sent


async def forever(*_: Any) -> Any:
    await asyncio.Event().wait()


def test_a_body_that_is_late_ends_as_if_the_caller_had_hung_up() -> None:
    seen: list[Message] = []

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        seen.extend([await receive(), await receive(), await receive()])

    ask(app, headers=BODY, body=SOON, receive=forever)

    assert [one["type"] for one in seen] == ["http.request", "http.disconnect", "http.disconnect"]


def test_after_its_body_a_call_may_wait_for_its_caller_as_long_as_it_likes() -> None:
    seen: list[Message] = []

    async def receive() -> Message:
        if seen:
            await asyncio.sleep(20 * SOON)
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": b"123456789", "more_body": False}

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()
        seen.append(await receive())
        seen.append(await receive())

    ask(app, headers=BODY, body=10.0, receive=receive)

    assert [one["type"] for one in seen] == ["http.request", "http.disconnect"]


def test_a_large_answer_goes_out_in_pieces() -> None:
    body = bytes(range(256)) * 512

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": body + b"x"})

    start, *pieces = ask(app)

    assert start["type"] == "http.response.start"
    assert b"".join(one["body"] for one in pieces) == body + b"x"
    assert max(len(one["body"]) for one in pieces) == PIECE
    assert [one.get("more_body", False) for one in pieces] == [True] * (len(pieces) - 1) + [False]


def test_an_answer_that_is_not_taken_ends_the_connection() -> None:
    ended: list[Message] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.body", "body": b"x"})
        ended.append({})

    assert ask(app, answer=SOON, send=forever) == [{"type": "abort"}]
    assert ended == []


def test_each_part_of_a_stream_has_the_time_of_an_answer_and_goes_out_in_small_pieces() -> None:
    taken: list[Message] = []

    async def take(message: Message) -> None:
        if len(taken) == 4:
            await forever()
        taken.append(message)

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        scope[AUTHENTICATED] = scope[STREAM] = True
        for body in (b"x" * (PIECE + 1), b"y", b"z", b"never"):
            await asyncio.sleep(0.03)
            await send({"type": "http.response.body", "body": body, "more_body": True})

    assert ask(app, answer=0.05, send=take) == [{"type": "abort"}]
    assert [len(one["body"]) for one in taken] == [PIECE, 1, 1, 1]
