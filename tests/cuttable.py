"""A way to a server whose connections a test resets all at once."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

_RESET = struct.pack("ii", 1, 0)


class Line:
    """Listens on a port, and passes bytes on to ``target`` and back."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        assert parts.hostname is not None
        assert parts.port is not None
        self._there = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = target.replace(f"{parts.hostname}:{parts.port}", host)
        self.passed = 0  # bytes, in both directions
        self._open: set[socket.socket] = set()
        self._hangs = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Reset every connection; new ones are accepted."""
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self._open.discard(one)

    def hang(self) -> None:
        """Pass nothing on any more, while connections stay open and new ones are accepted."""
        self._hangs = True

    def close(self) -> None:
        """Stop listening, and reset what is open."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                if self._hangs:
                    self._open.add(here)
                    continue
                try:
                    there = socket.create_connection(self._there)
                except OSError:
                    here.close()  # the server is down; the caller learns so at once
                    continue
                self._open |= {here, there}
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                self.passed += len(data)
                if not self._hangs:
                    other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            self._open.discard(end)


@contextlib.contextmanager
def cuttable(target: str) -> Iterator[Line]:
    """Yield a line to the server of a URL, for as long as it is used."""
    line = Line(target)
    try:
        yield line
    finally:
        line.close()
