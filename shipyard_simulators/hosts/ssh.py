"""The SSH servers: a jump host on one port, and behind it a server for each host."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from functools import partial

import asyncssh

from shipyard_simulators.hosts import keys
from shipyard_simulators.hosts.host import SimulatedHost
from shipyard_simulators.hosts.hosts import Hosts
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind

_PIECE = 64 * 1024

Handler = Callable[["asyncssh.SSHReader[bytes]", "asyncssh.SSHWriter[bytes]"], Awaitable[None]]
Process = asyncssh.SSHServerProcess  # its streams are those of bytes

asyncssh.set_log_level("WARNING")


class SshServers:
    """The servers. ``serve`` and ``close`` are called in the loop that runs them.

    A client reaches a host through the jump host, by the address of the host. So no host needs an address or a port of
    this machine.
    """

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        directory = hosts.shared.path
        self._options = asyncssh.SSHServerConnectionOptions(
            server_host_keys=[str(directory / keys.HOST_KEY)],
            authorized_client_keys=str(directory / f"{keys.KEY}.pub"),
            encoding=None,
            line_editor=False,
            compression_algs=None,
            keepalive_interval=0,
        )
        self._listener: asyncssh.SSHAcceptor | None = None
        self._jumps: set[asyncssh.SSHServerConnection] = set()

    async def serve(self, listening: socket.socket) -> None:
        """Accept connections from now on."""
        self._listener = await asyncssh.listen(
            sock=listening, options=self._options, server_factory=partial(_JumpHost, self, self._jumps)
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._listener is not None:
            self._listener.close()
        for connection in (*self._jumps, *(one for host in self._hosts.all.values() for one in host.connections)):
            connection.abort()

    def reach(self, address: str) -> Handler | None:
        """Return what serves a connection to an address, None if nothing does."""
        host = self._hosts.find(address)
        if host is None:
            return None
        outcome = self._hosts.connecting(host)
        if outcome.kind is NodeOutcomeKind.REFUSE:
            self._hosts.note("refused", host)
            return None
        return partial(self._serve_host, host, outcome)

    async def _serve_host(
        self,
        host: SimulatedHost,
        outcome: NodeOutcome,
        reader: "asyncssh.SSHReader[bytes]",
        writer: "asyncssh.SSHWriter[bytes]",
    ) -> None:
        """Serve one connection to a host, whose bytes arrive through the jump host."""
        if outcome.kind is NodeOutcomeKind.NEVER:
            await _silence(reader)
            return
        if outcome.kind is NodeOutcomeKind.SLOW:
            await asyncio.sleep(self._hosts.seconds(outcome, "connect_hosts"))
        ours, theirs = socket.socketpair()
        answers, requests = await asyncio.open_connection(sock=ours)
        server = asyncio.ensure_future(
            asyncssh.run_server(
                theirs,
                options=self._options,
                server_factory=partial(_Host, self._hosts, host),
                process_factory=partial(self._run, host),
                encoding=None,
            )
        )
        copies = [asyncio.ensure_future(_copy(*pair)) for pair in ((reader, requests), (answers, writer))]
        try:
            # The end of one direction ends the connection.
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*copies, server):
                task.cancel()
            await asyncio.gather(*copies, server, return_exceptions=True)
            requests.close()
            writer.close()

    async def _run(self, host: SimulatedHost, process: "Process[bytes]") -> None:
        """Run one command on a host, and send what it writes."""
        hosts, written = self._hosts, process.command or "/bin/sh"
        outcome = hosts.outcome(host, "task")
        began = hosts.clock.now()
        try:
            child = await asyncio.create_subprocess_exec(
                *host.command(written, outcome),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=host.root,
                env=host.environment(outcome, hosts.seconds(outcome, "run_tasks")),
                start_new_session=True,
            )
        except OSError as cause:
            process.stderr.write(f"{cause}\n".encode())
            process.exit(255)
            return
        feeding = asyncio.ensure_future(_copy(process.stdin, child.stdin))
        try:
            # The end of one of them is the end of the channel.
            outputs = ((child.stdout, process.stdout), (child.stderr, process.stderr))
            await asyncio.gather(*(_copy(source, target, end=False) for source, target in outputs))
            status = await child.wait()
        finally:
            feeding.cancel()
        hosts.note("command", host, command=written[-200:], status=status, seconds=round(hosts.clock.now() - began, 3))
        if status >= 0:
            process.exit(status)
        else:
            process.channel.exit_with_signal("KILL")


class _JumpHost(asyncssh.SSHServer):
    def __init__(self, servers: SshServers, open_ones: set[asyncssh.SSHServerConnection]) -> None:
        self._servers, self._open_ones = servers, open_ones

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._open_ones.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_ones.discard(self._connection)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> Handler | bool:
        return self._servers.reach(dest_host) or False


class _Host(asyncssh.SSHServer):
    def __init__(self, hosts: Hosts, host: SimulatedHost) -> None:
        self._hosts, self._host = hosts, host

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._host.connections.add(conn)
        self._hosts.note("connection", self._host)

    def connection_lost(self, exc: Exception | None) -> None:
        self._host.connections.discard(self._connection)


async def _silence(reader: "asyncssh.SSHReader[bytes]") -> None:
    """Say nothing until the client goes."""
    with contextlib.suppress(asyncssh.Error):
        while await reader.read(_PIECE):
            pass


async def _copy(source: object, target: object, *, end: bool = True) -> None:
    """Copy bytes until the source ends; then end the target, unless others write to it. A lost side ends it, too."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while piece := await source.read(_PIECE):  # type: ignore[attr-defined]  # streams of asyncio and of asyncssh
            target.write(piece)  # type: ignore[attr-defined]
            await target.drain()  # type: ignore[attr-defined]
        if end:
            target.write_eof()  # type: ignore[attr-defined]
