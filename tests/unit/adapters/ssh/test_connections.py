"""How much of an answer is read, and which server speaks; connections to a real sshd are in tests/contract."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import asyncssh
import pytest

from shipyard_api.adapters.ssh.connections import NodeRefusal, _read, _Server, _why
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
