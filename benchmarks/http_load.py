"""Load on an HTTP server of this machine, from processes of their own over connections that stay open."""

from __future__ import annotations

import multiprocessing
import random
import selectors
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

DOCUMENT = """---
schema: a/Bench/v1
metadata:
  schema: metadata/Document/v1
  name: bench-{}
  layeringDefinition: {{abstract: false, layer: site}}
  storagePolicy: cleartext
data: {{value: {}}}
"""


@dataclass
class Answers:
    """The answers of requests: the seconds of each, and the number of each status (0: no answer)."""

    seconds: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)
    size: int = 0
    wall: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall

    def at(self, part: float) -> float:
        """Milliseconds within which this part of the requests was answered."""
        return 1000 * sorted(self.seconds)[min(len(self.seconds) - 1, int(len(self.seconds) * part))]

    @property
    def errors(self) -> int:
        return sum(number for code, number in self.codes.items() if not 200 <= code < 300)


@dataclass(frozen=True)
class Load:
    """Requests of one kind to one server: ``GET path`` of these actions, or a POST with a body each time another."""

    port: int
    token: str
    path: str
    ids: Sequence[int] = ()
    is_post: bool = False

    def request(self, chance: random.Random) -> bytes:
        path, body = self.path, b""
        if self.ids:
            path += f"/01M7XV7VKPMDHXJVA7WM{chance.choice(self.ids):06}"
        if self.is_post:
            body = DOCUMENT.format(chance.randrange(10), chance.randrange(10**9)).encode()
        kind = f"Content-Type: application/x-yaml\r\nContent-Length: {len(body)}\r\n" if body else ""
        method = "POST" if body else "GET"
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nX-Auth-Token: {self.token}\r\n{kind}\r\n"
        return head.encode() + body


class Connection:
    """One caller, who asks again as soon as there is an answer."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket: socket.socket | None = None
        self.began = 0.0
        self.needed = -1
        self.got = bytearray()
        self.received = 0
        self.code = 0

    def ask(self, request: bytes, watched: selectors.BaseSelector) -> None:
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            watched.register(self.socket, selectors.EVENT_READ, self)
        self.began, self.needed, self.received, self.code = time.perf_counter(), -1, 0, 0
        self.got.clear()
        self.socket.sendall(request)

    def read(self) -> bool | None:
        """Return whether the answer is complete; None if the server has closed instead."""
        assert self.socket is not None
        try:
            piece = self.socket.recv(1 << 20)
        except OSError:
            return None
        if not piece:
            return None
        if self.needed < 0:
            self.got += piece
            end = self.got.find(b"\r\n\r\n")
            if end < 0:
                return False
            head = bytes(self.got[:end]).lower()
            self.code = int(head[9:12])
            at = head.find(b"content-length:")
            self.needed = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            self.received = len(self.got) - end - 4
        else:
            self.received += len(piece)
        return self.received >= self.needed

    def drop(self, watched: selectors.BaseSelector) -> None:
        if self.socket is not None:
            watched.unregister(self.socket)
            self.socket.close()
            self.socket = None


def play(load: Load, callers: int, *, number: int = 0, seconds: float = 0.0, processes: int = 1) -> Answers:
    """Ask until ``number`` requests were answered or ``seconds`` are over, from processes of their own."""
    queue: multiprocessing.Queue[Answers] = multiprocessing.Queue()
    shares = [callers // processes] * processes
    children = [
        multiprocessing.Process(target=_play, args=(load, share, number // processes, seconds, seed, queue))
        for seed, share in enumerate(shares)
    ]
    for child in children:
        child.start()
    answers = Answers()
    for _ in children:
        part = queue.get(timeout=300)
        answers.seconds += part.seconds
        answers.codes += part.codes
        answers.size, answers.wall = part.size, max(answers.wall, part.wall)
    for child in children:
        child.join()
    return answers


def _play(
    load: Load, callers: int, number: int, seconds: float, seed: int, queue: multiprocessing.Queue[Answers]
) -> None:
    chance = random.Random(f"{load.path} {seed} {time.time_ns()}")  # a load, not a secret
    answers, watched = Answers(), selectors.DefaultSelector()
    began = time.perf_counter()
    connections = [Connection(load.port) for _ in range(callers)]
    asked = 0
    for connection in connections:
        connection.ask(load.request(chance), watched)
        asked += 1
    open_requests = callers
    while open_requests:
        for key, _ in watched.select(60):
            connection = key.data
            done = connection.read()
            if done is False:
                continue
            now = time.perf_counter()
            answers.seconds.append(now - connection.began)
            answers.codes[connection.code if done else 0] += 1
            answers.size = connection.received
            if done is None:
                connection.drop(watched)
            more = asked < number if number else now - began < seconds
            if more:
                connection.ask(load.request(chance), watched)
                asked += 1
            else:
                open_requests -= 1
                connection.drop(watched)
    answers.wall = time.perf_counter() - began
    queue.put(answers)


def together(parts: Sequence[Answers]) -> Answers:
    answers = Answers(size=parts[0].size, wall=sum(part.wall for part in parts))
    for part in parts:
        answers.seconds += part.seconds
        answers.codes += part.codes
    return answers
