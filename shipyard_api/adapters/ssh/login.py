"""How Shipyard logs in on nodes, and the files that this needs."""

import threading
from pathlib import Path

import asyncssh
from msgspec import Struct

from shipyard_api.adapters.ssh import JumpHost


class Access(Struct, frozen=True):
    """How connections are opened; times in seconds. ``known_hosts``, ``key_file``: existing files."""

    user: str
    key_file: str
    known_hosts: str
    key_passphrase: str = ""
    jump: JumpHost | None = None
    connect_timeout: float = 10.0
    connections_at_once: int = 10


def key_fault(access: Access) -> str | None:
    """Return why the key or the known hosts cannot be used."""
    try:
        LoginFiles(access).read()
    except (OSError, ValueError, asyncssh.Error) as error:
        return str(error)
    return None


class LoginFiles:
    """The key and the known hosts, read again when a file has changed."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._lock = threading.Lock()
        self._read: tuple[object, tuple[asyncssh.SSHKey, asyncssh.SSHKnownHosts]] | None = None

    def read(self) -> tuple[asyncssh.SSHKey, asyncssh.SSHKnownHosts]:
        """Return both. Raises OSError, ValueError, and errors of asyncssh."""
        paths = [Path(self._access.key_file), Path(self._access.known_hosts)]
        with self._lock:
            state = [(stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in (path.stat() for path in paths)]
            if self._read is None or self._read[0] != state:
                self._read = state, (_key(paths[0], self._access.key_passphrase), _known_hosts(paths[1]))
            return self._read[1]


def _key(file: Path, passphrase: str) -> asyncssh.SSHKey:
    try:
        return asyncssh.read_private_key(file, passphrase or None)
    except (ValueError, asyncssh.Error) as error:
        raise ValueError(f"key_file: {file} is not a private key that can be read: {error}") from error


def _known_hosts(file: Path) -> asyncssh.SSHKnownHosts:
    try:
        return asyncssh.read_known_hosts(str(file))
    except (ValueError, asyncssh.Error) as error:
        raise ValueError(f"known_hosts: {file} cannot be read: {error}") from error
