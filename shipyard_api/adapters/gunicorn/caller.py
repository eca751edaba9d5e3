"""A caller's connection, as gunicorn's threads see it: one on which no thread ever waits for a slow caller.

gunicorn's parser and its answers know a socket with ``recv`` and ``sendall``, and nothing of who else waits for the
thread. So the socket itself says what can be read now, and keeps what the caller does not take.
"""

import socket
from collections import deque
from contextlib import suppress
from enum import Enum, auto

# As much of an answer as may wait for its caller without a thread: more than anything that strangers are told. A thread
# does wait with larger ones, of which only callers with a token get any; see the worker's ``answer_seconds``.
HELD_BYTES = 256 * 1024


class Reading(Enum):
    """What a thread may read."""

    NOTHING = auto()
    """A head is parsed, which is there as a whole: if the parser wants more, there is none."""

    AT_HAND = auto()
    """The rest of a body that nobody wanted, as far as it has come."""

    WAITING = auto()
    """A body that somebody wants; the worker's ``body_seconds`` end it."""


class Caller(socket.socket):
    """A connected socket.

    ``head``: what has come of the head of the next request.
    ``reading``: what a thread may read now.
    ``holds``: how many bytes of an answer wait for the caller to take them.
    """

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self.head = bytearray()
        self.reading = Reading.WAITING
        self.holds = 0
        self._held: deque[memoryview] = deque()

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return what may be read now; raises TimeoutError if only what is at hand may be read, and nothing is."""
        if self.reading is Reading.NOTHING:
            return b""
        if self.reading is Reading.WAITING:
            return super().recv(size, flags)
        try:
            return super().recv(size, flags | socket.MSG_DONTWAIT)
        except BlockingIOError as error:
            raise TimeoutError("no more of the body has come") from error

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]  # nobody sends anything else
        """Send what the caller takes now and hold the rest; wait only if that would be too much."""
        if data:
            self._held.append(memoryview(data))
            self.holds += len(data)
        self.deliver()
        if self.holds > HELD_BYTES:
            self.holds = 0
            while self._held:
                super().sendall(self._held.popleft(), flags)

    def deliver(self) -> bool:
        """Send of what is held as much as the caller takes now, and say whether that was all; raises OSError."""
        with suppress(BlockingIOError):
            while self._held:
                sent = self.send(self._held[0], socket.MSG_DONTWAIT)
                self.holds -= sent
                self._held[0] = self._held[0][sent:]
                if not self._held[0]:
                    self._held.popleft()
        return not self._held
