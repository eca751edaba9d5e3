"""How much of an answer is read, and which server speaks; connections to a real sshd are in tests/contract."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import asyncssh
import pytest

from shipyard_api.adapters.ssh.connections import (
    Answer,
    Connections,
    NodeError,
    NodeRefusal,
    _Link,
    _read,
    _Server,
    _why,
)
from tests.unit.tables import every_row


def read(pieces: Sequence[bytes], most: int) -> bytes:
    async def following(_: int) -> bytes:
        return next(left, b"")

    left = iter(pieces)
    return asyncio.run(_read(cast(Any, SimpleNamespace(read=following)), most))


@every_row([((), b""), ((b"ab", b"c"), b"abc"), ((b"ab", b"cde"), b"abcde")])
def test_an_answer_is_read_to_its_end(pieces: Sequence[bytes], expected: bytes) -> None:
    assert read(pieces, 5) == expected


@every_row([(b"abcdef",), (b"abc", b"def"), (b"a", b"b", b"c", b"d", b"e", b"f")])
def test_an_answer_that_is_too_large_is_refused(pieces: Sequence[bytes]) -> None:
    with pytest.raises(NodeRefusal, match="more than 5 bytes"):
        read(pieces, 5)


def connection(version: str | None) -> Any:
    return SimpleNamespace(get_extra_info=lambda name: version if name == "server_version" else None)


OURS, TUNNELS = "SSH-2.0-node", "SSH-2.0-tunnel"


@every_row(
    [
        # the version of the connection (none: TCP is not open), that of the tunnel, whether the server speaks
        (None, None, False),
        (connection(None), None, False),
        (connection(OURS), None, True),
        (connection(OURS), connection(TUNNELS), True),
        (connection(None), connection(TUNNELS), False),
        (connection(TUNNELS), connection(TUNNELS), False),  # it still gives that of the tunnel
    ]
)
def test_a_server_speaks_once_it_has_a_version_of_its_own(opened: Any, tunnel: Any, speaks: bool) -> None:
    server = _Server(tunnel)
    if opened:
        server.connection_made(opened)
    assert server.speaks == speaks


@every_row(
    [
        (asyncssh.PermissionDenied("no key of ours"), "no key of ours"),
        (OSError("the network is down"), "the network is down"),
        (TimeoutError(), "TimeoutError"),
        (asyncssh.ConnectionLost(""), "ConnectionLost"),
    ]
)
def test_why_a_node_does_not_answer_is_never_empty(error: Exception, why: str) -> None:
    assert _why(error) == why


ANSWER = Answer(0, b"", b"")


class Retried(Connections):
    """Connections whose commands end as a test wants; ``asked``: the timeouts of the attempts."""

    def __init__(self, *ends: Exception | Answer) -> None:
        self._access = cast(Any, SimpleNamespace(connect_timeout=7.0))
        self.ends, self.asked, self.link = [*ends], list[float](), _Link()

    def _link(self, host: Any) -> _Link:
        return self.link

    async def _once(self, host: Any, link: Any, command: str, data: bytes, most: int, limit: float) -> Answer:
        assert link.users == 1
        self.asked.append(limit)
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end


@every_row(
    [
        # whether a connection was open, how the attempts end; the answer (none: the last error), how many were made
        (None, [ANSWER], ANSWER, 1),
        (None, [NodeError("gone")], None, 1),
        (False, [ANSWER], ANSWER, 1),
        (False, [NodeError("gone"), ANSWER], ANSWER, 2),
        (False, [NodeError("gone"), NodeError("gone")], None, 2),
        (False, [NodeRefusal("no")], None, 1),
        (True, [NodeError("gone")], None, 1),  # it had been closed before
    ]
)
def test_a_command_is_tried_again_once_if_its_connection_had_been_open_before(
    closed: bool | None, ends: list[Any], answer: Answer | None, attempts: int
) -> None:
    connections = Retried(*ends)
    if closed is not None:
        connections.link.connection = cast(Any, SimpleNamespace(is_closed=lambda: closed))
    running = connections.run(cast(Any, "n1"), "true", b"", most=1, connect_timeout=3.0 if closed else None)
    if answer is None:
        with pytest.raises(NodeError):
            asyncio.run(running)
    else:
        assert asyncio.run(running) == answer
    assert (connections.asked, connections.link.users) == ([3.0 if closed else 7.0] * attempts, 0)
    assert connections.link.used > 0
