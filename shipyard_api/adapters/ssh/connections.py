"""Connections to nodes: one event loop in one thread for all of them, kept open between calls."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent import futures
from typing import Any, TypeVar

import asyncssh
from msgspec import Struct, field

from shipyard_api.adapters.ssh import PORT, text
from shipyard_api.adapters.ssh.login import Access, LoginFiles
from shipyard_api.observing.telemetry import NO_ANSWER, SUCCESS, Kind, observed
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.remote_tasks import Host

T = TypeVar("T")

SYSTEM = "SSH"
IDLE = 600.0  # seconds after which a connection is closed
SESSIONS = 5  # at once on a connection; sshd allows 10
KEEPALIVE = 15.0  # seconds
HANGS = 1.0  # seconds after which a connection that is being opened, to a server that says nothing, gives up its place
SILENT = 2.0
"""Seconds after the last answer of a call after which servers that have said nothing yet are waited for no longer."""
_PIECE = 64 * 1024
_CLOSING = 2.0  # seconds for connections to say goodbye
_STDERR = 4096  # bytes that are kept
_UNREAD = 256 * 1024  # bytes that a node may send before we have read them

asyncssh.set_log_level("WARNING")


class _Server(asyncssh.SSHClient):
    """The state of a server while a connection to it is being opened, through a tunnel or directly."""

    _connection: asyncssh.SSHClientConnection | None = None
    has_turn = False

    def __init__(self, tunnel: asyncssh.SSHClientConnection | None = None) -> None:
        self._tunnel = tunnel

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Keep the connection: TCP is open."""
        self._connection = conn

    @property
    def speaks(self) -> bool:
        """Whether it has said which SSH it speaks."""
        version = _version(self._connection)
        # Until a connection through a tunnel has its own, it gives that of the tunnel.
        return version is not None and version is not _version(self._tunnel)


def _version(connection: asyncssh.SSHClientConnection | None) -> str | None:
    version: str | None = connection.get_extra_info("server_version") if connection else None
    return version


class NodeError(Exception):
    """A node did not answer."""


class NodeRefusal(NodeError):
    """A node answered, and does not let us in."""


class Answer(Struct, frozen=True):
    """What a command wrote, and its exit status."""

    status: int
    stdout: bytes
    stderr: bytes


class _Link(Struct):
    """The connection to one host. ``used``: when, by the clock of the loop."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    sessions: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SESSIONS))
    connection: asyncssh.SSHClientConnection | None = None
    opening: _Server | None = None
    used: float = 0.0
    users: int = 0

    @property
    def is_silent(self) -> bool:
        """Whether a connection is being opened, and the server says nothing."""
        return self.opening is not None and self.opening.has_turn and not self.opening.speaks


_Key = tuple[str, str, int]


class Connections:
    """Runs commands on many hosts at once. Thread-safe; ``close`` leaves no thread and no connection."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._links: dict[_Key, _Link] = {}
        self._files = LoginFiles(access)

    def check(self, operation: str) -> None:
        """Raise Refused if the key or the known hosts cannot be used."""
        try:
            self._files.read()
        except (OSError, ValueError, asyncssh.Error) as error:
            raise Refused(SYSTEM, operation, str(error), whole_site=True) from error

    def each(
        self, hosts: Iterable[Host], call: Callable[[Host], Coroutine[Any, Any, T]], *, limit: float
    ) -> Mapping[Host, T | NodeError]:
        """Run a coroutine for each host; one that does not end in ``limit`` seconds gives a NodeError.

        So does a host that says nothing after others have answered: these do not wait for it.
        """

        async def bounded(host: Host) -> T | NodeError:
            try:
                async with asyncio.timeout(limit):
                    return await call(host)
            except TimeoutError:
                return NodeError(f"no answer in {limit:g} s")
            except NodeError as error:
                return error

        return self._submit(self._unless_silent({host: bounded(host) for host in hosts})).result()

    async def run(
        self, host: Host, command: str, data: bytes, *, most: int, connect_timeout: float | None = None
    ) -> Answer:
        """Run a command with its input; raises NodeError. ``most``: bytes that the command may write.

        A connection that had been open before may have died meanwhile. Then a new one is opened, once: the command may
        run twice. ``connect_timeout``: None for that of the settings.
        """
        limit = connect_timeout or self._access.connect_timeout
        link = self._link(host)
        link.users += 1
        try:
            async with link.sessions:
                kept = link.connection is not None and not link.connection.is_closed()
                try:
                    return await self._once(host, link, command, data, most, limit)
                except NodeError as error:
                    if isinstance(error, NodeRefusal) or not kept:
                        raise
                return await self._once(host, link, command, data, most, limit)
        finally:
            link.users -= 1
            loop = asyncio.get_running_loop()
            link.used = loop.time()
            loop.call_later(IDLE + 1, self._drop_idle)

    def close(self) -> None:
        """Close all connections and end the thread. A later call opens them again."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._close_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    # Inside.

    def _link(self, host: Host) -> _Link:
        return self._links.setdefault((host.name, host.address, host.port), _Link())

    async def _unless_silent(
        self, asked: Mapping[Host, Coroutine[Any, Any, T | NodeError]]
    ) -> dict[Host, T | NodeError]:
        """Return all answers, without waiting for servers that say nothing ``SILENT`` seconds after the last one."""
        clock = asyncio.get_running_loop().time
        last, has_answer = clock(), False

        def ended(task: "asyncio.Task[T | NodeError]") -> None:
            nonlocal last, has_answer
            last = clock()
            has_answer |= not (task.cancelled() or task.exception() or isinstance(task.result(), NodeError))

        tasks = {host: asyncio.ensure_future(coroutine) for host, coroutine in asked.items()}
        for future in tasks.values():
            future.add_done_callback(ended)
        left = set(tasks.values())
        while left:
            idle = clock() - last
            _, left = await asyncio.wait(left, timeout=SILENT - idle if idle < SILENT else SILENT)
            is_over = has_answer and clock() - last >= SILENT
            if is_over and all(self._link(host).is_silent for host, future in tasks.items() if future in left):
                break
        for future in left:
            future.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        why = NodeError(f"it said nothing for {SILENT:g} s while others answered")
        return {host: why if future in left else future.result() for host, future in tasks.items()}

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> "futures.Future[T]":
        """Hand a coroutine to the loop, which begins with the first one."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._opening = asyncio.Semaphore(self._access.connections_at_once)
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="ssh", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _once(self, host: Host, link: _Link, command: str, data: bytes, most: int, limit: float) -> Answer:
        # Connecting counts: that is what a node that is down makes slow.
        with observed(Kind.PEER, f"run {SYSTEM}", {"system": SYSTEM, "method": "RUN"}) as seen:
            seen.details["node"] = host.name
            seen.outcome = NO_ANSWER
            answer = await self._run(await self._connection(host, link, limit), link, command, data, most)
            seen.outcome = SUCCESS
            return answer

    async def _run(
        self, connection: asyncssh.SSHClientConnection, link: _Link, command: str, data: bytes, most: int
    ) -> Answer:
        try:
            return await _talk(connection, command, data, most)
        except (OSError, asyncssh.Error, NodeError, asyncio.CancelledError) as error:
            # It is of no use any more, or hangs: a limit ran out.
            connection.abort()
            if link.connection is connection:
                link.connection = None
            if isinstance(error, OSError | asyncssh.Error):
                raise NodeError(_why(error)) from error
            raise

    async def _connection(self, host: Host, link: _Link, limit: float) -> asyncssh.SSHClientConnection:
        async with link.lock:
            if link.connection is None or link.connection.is_closed():
                link.connection = None
                jump = await self._jump()
                link.opening = server = _Server(jump)
                try:
                    link.connection = await self._in_turn(
                        self._open(host.name, host.address, host.port, self._access.user, jump, server, limit), server
                    )
                finally:
                    link.opening = None
            return link.connection

    async def _in_turn(
        self, opening: Coroutine[Any, Any, asyncssh.SSHClientConnection], server: "_Server"
    ) -> asyncssh.SSHClientConnection:
        """Open a connection when it is its turn. One that hangs gives its place to the next.

        A server that has begun to speak keeps the place: hosts that are slow because all of them have work would
        otherwise get every connection at once.
        """
        task: asyncio.Task[asyncssh.SSHClientConnection] | None = None
        try:
            async with self._opening:
                server.has_turn = True
                task = asyncio.ensure_future(opening)
                await asyncio.wait({task}, timeout=HANGS)
                if server.speaks:
                    await asyncio.wait({task})
            return await task
        finally:
            if task is None:
                opening.close()
            else:
                task.cancel()

    async def _jump(self) -> asyncssh.SSHClientConnection | None:
        jump = self._access.jump
        if jump is None:
            return None
        link = self._links.setdefault(("jump host", jump.address, jump.port), _Link(users=1))
        async with link.lock:
            if link.connection is None or link.connection.is_closed():
                try:
                    link.connection = await self._open(
                        jump.address,
                        jump.address,
                        jump.port,
                        jump.user,
                        None,
                        _Server(),
                        self._access.connect_timeout,
                    )
                except NodeError as error:
                    raise type(error)(f"jump host {jump.address}: {error}") from error
            return link.connection

    async def _open(
        self,
        name: str,
        address: str,
        port: int,
        user: str,
        tunnel: asyncssh.SSHClientConnection | None,
        server: "_Server",
        limit: float,
    ) -> asyncssh.SSHClientConnection:
        try:
            key, known = self._files.read()
            async with asyncio.timeout(limit):
                return await asyncssh.connect(
                    address,
                    port,
                    tunnel=tunnel,
                    client_factory=lambda: server,
                    config=None,
                    username=user,
                    client_keys=[key],
                    agent_path=None,
                    preferred_auth="publickey",
                    known_hosts=lambda *_: known.match(name, address, None if port == PORT else port),
                    keepalive_interval=KEEPALIVE,
                    keepalive_count_max=2,
                    compression_algs=None,
                )
        except asyncssh.HostKeyNotVerifiable as error:
            raise NodeRefusal(f"its host key is not the one in {self._access.known_hosts} ({_why(error)})") from error
        except (asyncssh.PermissionDenied, asyncssh.KeyExchangeFailed) as error:
            raise NodeRefusal(f"it does not let {user} in: {_why(error)}") from error
        except TimeoutError as error:
            raise NodeError(f"no connection in {limit:g} s") from error
        except (OSError, ValueError, asyncssh.Error) as error:
            raise NodeError(_why(error)) from error

    def _drop_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for key, link in list(self._links.items()):
            if not link.users and now - link.used >= IDLE:
                del self._links[key]
                if link.connection is not None:
                    link.connection.close()

    async def _close_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        links, self._links = self._links, {}
        open_ones = [link.connection for link in links.values() if link.connection is not None]
        for connection in open_ones:
            connection.close()
        closing = [asyncio.ensure_future(connection.wait_closed()) for connection in open_ones]
        if closing:
            await asyncio.wait(closing, timeout=_CLOSING)
        for connection in open_ones:
            connection.abort()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _talk(connection: asyncssh.SSHClientConnection, command: str, data: bytes, most: int) -> Answer:
    process = await connection.create_process(command, encoding=None, window=_UNREAD)
    send = asyncio.ensure_future(_send(process, data))
    reading = [asyncio.ensure_future(_read(stream, most)) for stream in (process.stdout, process.stderr)]
    try:
        stdout, stderr = await asyncio.gather(*reading)
        await process.wait_closed()
        if process.returncode is None:
            raise NodeError("the connection ended before the answer")
        return Answer(process.returncode, stdout, stderr[:_STDERR])
    finally:
        process.close()
        for task in (send, *reading):
            task.cancel()
        await asyncio.gather(send, *reading, return_exceptions=True)


async def _send(process: "asyncssh.SSHClientProcess[bytes]", data: bytes) -> None:
    try:
        for at in range(0, len(data), _PIECE):
            process.stdin.write(data[at : at + _PIECE])
            await process.stdin.drain()
        process.stdin.write_eof()
    except (OSError, asyncssh.Error):
        pass  # the command has ended without reading it all; its answer says why


async def _read(stream: "asyncssh.SSHReader[bytes]", most: int) -> bytes:
    """Read to the end. More than ``most`` bytes are an error."""
    pieces, size = [], 0
    while piece := await stream.read(_PIECE):
        size += len(piece)
        if size > most:
            raise NodeRefusal(f"it answered more than {most} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _why(error: BaseException) -> str:
    said = error.reason if isinstance(error, asyncssh.Error) else str(error)
    return text.detail(said.encode("utf-8", "replace")) or type(error).__name__
