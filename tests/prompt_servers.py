"""Servers in threads of a test process that sleep until they are asked something, and end at once.

Those of the library look up to a hundred times a second whether they are to end, each in a thread that takes turns
with the test, and end only when they look. Here a connection wakes them.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import Any, TypeVar

from tests.waiting import PATIENCE

Served = TypeVar("Served", bound=BaseServer)
_serve_forever, _shutdown = BaseServer.serve_forever, BaseServer.shutdown


def _serve(server: Any, poll_interval: float = 0.5) -> None:
    _serve_forever(server, PATIENCE)


def _end(server: Any) -> None:
    server._BaseServer__shutdown_request = True
    with socket.socket(server.address_family) as waking:
        waking.setblocking(False)  # where no connection is taken, others are, and the server is awake
        waking.connect_ex(server.socket.getsockname())
        _shutdown(server)


BaseServer.serve_forever, BaseServer.shutdown = _serve, _end  # type: ignore[method-assign]


@contextmanager
def served(server: Served) -> Iterator[Served]:
    """Run a server in a thread of this process while the block lasts."""
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
