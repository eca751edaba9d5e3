"""Real hosts: OpenSSH servers on loopback addresses, each with its own port, host key and directory of tasks."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shipyard_api.child_processes import die_with_parent
from tests.waiting import until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
MISSING = "there is no sshd; install openssh-server" if SSHD is None else ""

# SHLVL: otherwise bash reads the ~/.bashrc of the account that runs the tests, for each command.
CONFIGURATION = """
ListenAddress {address}
Port {port}
HostKey {directory}/host_key
PidFile {directory}/sshd.pid
AuthorizedKeysFile {keys}/key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin yes
MaxStartups 100
PrintMotd no
LogLevel VERBOSE
SetEnv SHLVL=2 {environment}
"""


def _own_address() -> str:
    """Return a loopback address that no other test process has: nobody else takes a port while a server restarts."""
    first, rest = divmod(os.getpid(), 62_500)
    return f"127.{1 + first % 250}.{rest // 250}.{1 + rest % 250}"


@dataclass
class Keys:
    """A key for logging in, and the file of known hosts."""

    directory: Path

    def __post_init__(self) -> None:
        keygen(self.directory / "key")
        self.known_hosts.touch()

    @property
    def key(self) -> Path:
        return self.directory / "key"

    @property
    def known_hosts(self) -> Path:
        return self.directory / "known_hosts"


@dataclass
class Sshd:
    """One server. ``tasks``: where its host keeps tasks. ``environment``: of its sessions."""

    keys: Keys
    directory: Path
    address: str = field(default_factory=_own_address)
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)
        keygen(self.directory / "host_key")
        self.port = free_port(self.address)
        self.tasks = self.directory / "tasks"
        known = " ".join((self.directory / "host_key.pub").read_text().split()[:2])
        with self.keys.known_hosts.open("a") as file:
            file.write(f"[{self.address}]:{self.port} {known}\n")
        environment = {"SHIPYARD_TASKS": str(self.tasks), **self.environment}
        (self.directory / "config").write_text(
            CONFIGURATION.format(
                address=self.address,
                port=self.port,
                directory=self.directory,
                keys=self.keys.directory,
                environment=" ".join(f'{name}="{value}"' for name, value in environment.items()),
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert SSHD is not None, MISSING
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.directory / "config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # A test run that is killed must not leave servers behind.
                preexec_fn=die_with_parent,
            )
        process, log = self._process, self.directory / "log"
        until(lambda: self._answers() or process.poll() is not None, log.read_text, every=0.01)
        if process.poll() is not None:
            raise RuntimeError(log.read_text())

    def stop(self) -> None:
        """End the server and all its connections; return when its port is free."""
        if self._process is not None:
            # Stopped first: a connection accepted meanwhile would get a process that still holds the port, and the
            # next server could not take it.
            self._process.send_signal(signal.SIGSTOP)
            for child in children(self._process.pid):
                signal_if_there(child, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
            self._process = None
            until(lambda: not self._answers(), lambda: "the port is still taken", every=0.01)

    def end_tasks(self) -> None:
        """End what runs on this host: its processes have the directory of its tasks in their environment."""
        end_processes(f"SHIPYARD_TASKS={self.tasks}\0")

    def cut(self) -> None:
        """End all connections; the server goes on."""
        assert self._process is not None
        for child in children(self._process.pid):
            signal_if_there(child, signal.SIGKILL)

    def freeze(self) -> None:
        """Let the server and its connections hang, until it is stopped."""
        assert self._process is not None
        for one in (self._process.pid, *children(self._process.pid)):
            signal_if_there(one, signal.SIGSTOP)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            # From another address: a port that nothing listens on could otherwise be connected with itself.
            probe.bind(("127.0.0.1", 0))
            return probe.connect_ex((self.address, self.port)) == 0


def keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def free_port(address: str) -> int:
    with socket.socket() as found:
        found.bind((address, 0))
        port: int = found.getsockname()[1]
        return port


def user() -> str:
    return getpass.getuser()


def children(pid: int) -> list[int]:
    """Return all descendants of a process that did not leave its tree."""
    listing = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        found = [int(child) for child in listing.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return []
    return [*found, *(below for child in found for below in children(child))]


def signal_if_there(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def end_processes(environment: str) -> None:
    """End every process with this text in its environment."""
    for found in Path("/proc").glob("[1-9]*/environ"):
        with suppress(OSError):
            if environment.encode() in found.read_bytes():
                os.kill(int(found.parent.name), signal.SIGKILL)
