"""A TCP port that is kept for a server, also before it listens and while it restarts."""

import socket
import sys
from types import TracebackType
from typing import Self


class HeldPort:
    """A port of an address of this machine that no other program is given until ``close``.

    Linux gives a bound port to no client and to no server that asks for any port. A server that asks for this one may
    listen on it, because ours does not listen and both share the address. Elsewhere the port is only free at the start.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((address, 0))
        self.number: int = self._socket.getsockname()[1]
        if sys.platform != "linux":
            self.close()

    def close(self) -> None:
        """Give the port back; may be repeated."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()
