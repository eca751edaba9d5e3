"""Tasks on running nodes over SSH, without an agent: ``supervisor.sh`` is sent with the task."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from shipyard_api.settings.types import Secret

PORT = 22


@dataclass(frozen=True, slots=True)
class SshOptions:
    """How to reach deployed nodes, to run the tasks of the software stage. Without ``key_file``, none can run.

    ``user``: the account on the nodes.
    ``key_file``: a private key of this account. Shipyard uses no password, no agent and no settings of OpenSSH.
    ``key_passphrase``: the passphrase of the key, if it has one.
    ``known_hosts``: a file of host keys in the format of OpenSSH, by address or name of the node. Others are refused.
    ``network``: the network of the design whose address of a node is used (``addressing`` of its BaremetalNode).
    ``port``: the port of SSH on the nodes.
    ``master``: the address of the host for tasks with the role ``master``; empty: such tasks are refused.
    ``files``: the directory of the files that tasks of the type ``copy_files`` copy; empty: such tasks are refused.
    ``jump_host``: reach the nodes through this host, written as host, user@host or user@host:port; empty: directly.
    ``connect_timeout_seconds``: timeout of a connection.
    ``read_timeout_seconds``: timeout of an answer of one node; others do not wait for it.
    ``connections_at_once``: how many connections a process opens at the same time; nodes that hang do not count.
    """

    user: str = "root"
    key_file: str = ""
    key_passphrase: Secret = Secret("")  # noqa: RUF009  # immutable
    known_hosts: str = ""
    network: str = ""
    port: int = PORT
    master: str = ""
    files: str = ""
    jump_host: str = ""
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 60.0
    connections_at_once: int = 10

    def faults(self) -> Iterator[str]:
        """Yield settings that are missing or contradict each other, and files that do not exist."""
        for name in ("known_hosts", "network"):
            if self.key_file and not getattr(self, name):
                yield f"[ssh] {name}: needed together with key_file"
        for name, value in (("known_hosts", self.known_hosts), ("master", self.master), ("jump_host", self.jump_host)):
            if value and not self.key_file:
                yield f"[ssh] {name}: needs key_file, which is not set"
        for name, file in (("key_file", self.key_file), ("known_hosts", self.known_hosts)):
            if file and not Path(file).expanduser().is_file():
                yield f"[ssh] {name}: there is no file {file}"
        if self.files and not Path(self.files).expanduser().is_dir():
            yield f"[ssh] files: there is no directory {self.files}"
        if self.port > 65535:
            yield f"[ssh] port: {self.port} is above 65535"
        try:
            jump_host(self.jump_host, self.user)
        except ValueError as error:
            yield f"[ssh] jump_host: {error}"


class JumpHost(Struct, frozen=True):
    """A host that connections go through."""

    user: str
    address: str
    port: int


def jump_host(written: str, user: str) -> JumpHost | None:
    """Parse ``[user@]host[:port]``; an address of IPv6 with a port is in brackets. Raises ValueError."""
    if not written:
        return None
    named, at, place = written.rpartition("@")
    host, port = place, str(PORT)
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest[1:] if rest.startswith(":") else rest or port
    elif place.count(":") == 1:
        host, _, port = place.partition(":")
    if not host or (at and not named) or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{written!r} is not a host; write it as user@host:port")
    return JumpHost(named or user, host, int(port))
