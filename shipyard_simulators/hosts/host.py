"""One simulated host: its directory, its environment, and its outcomes."""

import os
import shutil
import signal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from shipyard_simulators.hosts import programs
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind

BOOT_ID = Path("proc", "sys", "kernel", "random", "boot_id")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BY_ITS_SHELL = frozenset(
    {
        NodeOutcomeKind.FAIL,
        NodeOutcomeKind.SLOW,
        NodeOutcomeKind.NEVER,
        NodeOutcomeKind.LOSE,
        NodeOutcomeKind.REBOOT,
    }
)
# No write to a file succeeds, as on a full disk.
_FULL = "trap '' XFSZ; ulimit -f 0; eval \"$1\""


@dataclass(slots=True)
class HostsDirectory:
    """Where all hosts are: ``bin`` and ``faulty`` hold their own programs, ``control`` takes what these say."""

    path: Path

    @property
    def control(self) -> Path:
        """The named pipe by which a host asks for its restart."""
        return self.path / "control"

    def prepare(self) -> None:
        """Create everything that the hosts share."""
        self.path.mkdir(parents=True, exist_ok=True)
        programs.write(self.path / "bin", programs.PROGRAMS)
        programs.write(self.path / "faulty", programs.FAULTY)
        self.control.unlink(missing_ok=True)
        os.mkfifo(self.control, 0o600)

    def mark(self) -> str:
        """Return what every process of a host has in its environment, and no other process."""
        return f"SIMULATED_CONTROL={self.control}"


@dataclass(slots=True)
class SimulatedHost:
    """A host. ``boots``: how often it was started; ``away_until``: moment before which it is restarting.

    ``connections``: those that are open. ``opened``: how many were asked for.
    """

    name: str
    addresses: tuple[str, ...]
    shared: HostsDirectory
    boots: int = 1
    away_until: float = 0.0
    opened: int = 0
    connections: set[asyncssh.SSHServerConnection] = field(default_factory=set)

    @property
    def directory(self) -> Path:
        """The directory of the host; nothing that it does by itself leaves it."""
        return self.shared.path / "hosts" / self.name

    @property
    def root(self) -> Path:
        """What stands for ``/`` on the host."""
        return self.directory / "root"

    @property
    def tasks(self) -> Path:
        """Where Shipyard's tasks are kept."""
        return self.directory / "tasks"

    def prepare(self) -> None:
        """Create the directories, unless the host has them."""
        if not (self.root / BOOT_ID).is_file():
            for directory in (self.root / "root", (self.root / BOOT_ID).parent, self.root / "tmp"):
                directory.mkdir(parents=True, exist_ok=True)
            self._boot()

    def restart(self, back_at: float) -> None:
        """Take the host down: its processes end, its connections drop; it answers again at ``back_at``."""
        self.away_until = back_at
        self.boots += 1
        self.end()
        self._boot()

    def wipe(self) -> None:
        """Empty the host, as an installation does."""
        self.end()
        for directory in (self.root, self.tasks):
            # What has been killed may not have ended yet, and still create files.
            shutil.rmtree(directory, ignore_errors=True)
        self.prepare()

    @property
    def installations(self) -> int:
        """How often the host was installed."""
        file = self.directory / "installations"
        return int(file.read_text(encoding="ascii")) if file.is_file() else 0

    def install(self, number: int) -> None:
        """Empty the host, and keep that this was its installation of this number."""
        self.wipe()
        (self.directory / "installations").write_text(f"{number}\n", encoding="ascii")

    def end(self) -> None:
        """Drop all connections and end all processes."""
        for connection in tuple(self.connections):
            connection.abort()
        end_processes(f"SIMULATED_DIRECTORY={self.directory}")

    def command(self, written: str, outcome: NodeOutcome) -> list[str]:
        """Return the program that runs a command."""
        if outcome.kind is NodeOutcomeKind.FULL:
            return ["/bin/sh", "-c", _FULL, "sh", written]
        return ["/bin/sh", "-c", written]

    def environment(self, outcome: NodeOutcome, seconds: float) -> Mapping[str, str]:
        """Return the environment of a command. ``seconds``: real ones, of an outcome that takes time."""
        played = outcome.kind in _BY_ITS_SHELL
        own = [str(self.shared.path / "faulty")] * played + [str(self.shared.path / "bin")]
        found = {
            "HOME": str(self.root / "root"),
            "PATH": ":".join([*own, _SYSTEM_PATH]),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "USER": "root",
            "LOGNAME": "root",
            "HOSTNAME": self.name,
            "SHIPYARD_ROOT": str(self.root),
            "SHIPYARD_TASKS": str(self.tasks),
            "SIMULATED_HOST": self.name,
            "SIMULATED_DIRECTORY": str(self.directory),
            "SIMULATED_CONTROL": str(self.shared.control),
        }
        if played:
            found |= {
                "SIMULATED_OUTCOME": outcome.kind.value,
                "SIMULATED_SECONDS": f"{seconds:.3f}",
                "SIMULATED_TIMES": str(outcome.times or ""),
                "SIMULATED_REASON": outcome.reason or _REASONS.get(outcome.kind, ""),
            }
        return found

    def _boot(self) -> None:
        (self.root / BOOT_ID).write_text(f"{uuid.uuid4()}\n", encoding="ascii")


_REASONS = {NodeOutcomeKind.FAIL: "the scenario lets this task fail"}


def end_processes(variable: str) -> None:
    """End every process with this variable in its environment."""
    wanted = variable.encode()
    for environ in Path("/proc").glob("[1-9]*/environ"):
        try:
            if wanted in environ.read_bytes().split(b"\0"):
                os.kill(int(environ.parent.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended, or is another user's
