"""Start and stop the server of a locked cluster: pg_ctl, and the cases that pg_ctl misses."""

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from shipyard_simulators.embedded_postgres import processes
from shipyard_simulators.embedded_postgres.binaries import Binaries
from shipyard_simulators.embedded_postgres.cluster import Cluster
from shipyard_simulators.embedded_postgres.errors import PostgresError

_FAST_SECONDS = 5
_IMMEDIATE_SECONDS = 3
_KILLED_SECONDS = 2
_PAUSE = 0.02
_LOG_LINES = 20
_LONGEST_PID = 10  # digits


class FailureCause(Enum):
    """Why a server did not start."""

    PORT_TAKEN = "port taken"
    STILL_IN_USE = "still in use"
    OTHER = "other"


_SIGNS = (
    ("Address already in use", FailureCause.PORT_TAKEN),
    ("pre-existing shared memory block", FailureCause.STILL_IN_USE),
    ('lock file "postmaster.pid" already exists', FailureCause.STILL_IN_USE),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed start, with the server's log of it."""

    log: str

    @property
    def cause(self) -> FailureCause:
        """What can be done about it: take another port, wait, or nothing."""
        return next((cause for sign, cause in _SIGNS if sign in self.log), FailureCause.OTHER)


@dataclass(frozen=True, slots=True)
class Control:
    """Starts and stops the server of one cluster; ``word`` marks the servers that we start."""

    cluster: Cluster
    binaries: Binaries
    word: str

    def server(self) -> int | None:
        """Return the pid of the server that runs on the data; None if none does, whatever ``postmaster.pid`` says."""
        pid = self._noted_pid()
        words = processes.command(pid) if pid else []
        if not pid or not words or Path(words[0]).name not in ("postgres", "postmaster"):
            return None
        data = self.cluster.data
        return pid if str(data) in words or pid in processes.working_in(data, self.cluster.account) else None

    def start(self, port: int, settings: Mapping[str, str], *, seconds: float) -> Failure | None:
        """Start a server on 127.0.0.1 and wait until it accepts connections. Return None, or the failure.

        Stops a server that an earlier owner left. Raises PostgresError if one runs that is not ours.
        """
        self.stop()
        self._forget_dead_server()
        words = ["-D", str(self.cluster.data), "-h", "127.0.0.1", "-p", str(port)]
        # No Unix socket: no stale file on disk, and no limit on the length of a path.
        words += ["-k", "", "-c", f"shipyard.word={self.word}"]
        for name, value in settings.items():
            words += ["-c", f"{name}={value}"]
        # The data directory goes by environment and by quoted option, and the log by descriptor, because pg_ctl does
        # not quote them for the shell that it uses.
        command = [self.binaries.program("pg_ctl"), "start", "-s", "-w", "-t", str(max(1, round(seconds)))]
        with os.fdopen(self.cluster.open_log(), "ab") as log:
            before = os.fstat(log.fileno()).st_size
            done = self.cluster.account.run([*command, "-o", shlex.join(words)], environment=self._where(), output=log)
        if done.returncode == 0:
            return None
        with self.cluster.beside("log").open("rb") as written:
            written.seek(before)
            return Failure(written.read().decode(errors="replace"))

    def stop(self) -> None:
        """Stop the server if one runs: gracefully within 5 s, else at once, else with SIGKILL, all within 10 s.

        Committed work is kept. Raises PostgresError if the server is not ours, or does not stop.
        """
        for mode, seconds in (("fast", _FAST_SECONDS), ("immediate", _IMMEDIATE_SECONDS), ("", _KILLED_SECONDS)):
            # Checked each time: pg_ctl would signal whatever process has the recorded pid now.
            server = self.server()
            if server is None:
                return
            self._require_ours(server)
            born = processes.identity(server)
            if mode:
                self.cluster.account.run(
                    [self.binaries.program("pg_ctl"), "stop", "-s", "-W", "-m", mode], environment=self._where()
                )
            else:
                self._kill(server)
            # Not done by pg_ctl, which takes a zombie for a live server.
            deadline = time.monotonic() + seconds
            while born is not None and processes.identity(server) == born and time.monotonic() < deadline:
                time.sleep(_PAUSE)
        server = self.server()
        if server is not None:
            raise PostgresError(
                f"PostgreSQL (process {server}) on {self.cluster.data} does not stop. Its log, "
                f"{self.cluster.beside('log')}, may say why."
            )

    def explain(self, failure: Failure, port: int) -> str:
        """Return the failure in an operator's words, with the end of the log."""
        text = f"PostgreSQL does not start on {self.cluster.data}."
        match failure.cause:
            case FailureCause.STILL_IN_USE:
                text += (
                    f" Processes of a former server still use the data ({self._leftovers()}). They end when their "
                    "work does; kill -QUIT ends them now, and loses nothing that was committed."
                )
            case FailureCause.PORT_TAKEN:
                text += f" Another program has taken its port, 127.0.0.1:{port}: stop that, or stop and start Shipyard."
            case FailureCause.OTHER if self.server() is not None:
                text += " It was still not ready when time was up; recovery after a crash may need more."
        tail = "\n".join(failure.log.strip().splitlines()[-_LOG_LINES:]) or "(nothing)"
        return f"{text} The end of its log, {self.cluster.beside('log')}:\n{tail}"

    def _kill(self, server: int) -> None:
        """Kill a server that does not react, and its children, which may be frozen as well."""
        for pid in (server, *processes.working_in(self.cluster.data, self.cluster.account)):
            words = processes.command(pid)
            if words and Path(words[0]).name.startswith("post"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _where(self) -> Mapping[str, str]:
        return {"PGDATA": str(self.cluster.data)}

    def _require_ours(self, server: int) -> None:
        words = processes.command(server)
        # Without a log it has ended since the last check: killed a moment ago, for example.
        if not words or any(self.word in argument for argument in words):
            return
        raise PostgresError(
            f"A PostgreSQL that Shipyard did not start (process {server}) already runs on {self.cluster.data}. Stop it "
            f"with pg_ctl -D '{self.cluster.data}' -m fast stop, or choose another data directory (--data-dir)."
        )

    def _noted_pid(self) -> int | None:
        try:
            first = (self.cluster.data / "postmaster.pid").read_text(errors="replace").partition("\n")[0].strip()
        except FileNotFoundError:
            return None
        digits = first.removeprefix("-")  # a single-user server writes its pid with a minus
        return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_PID else None

    def _forget_dead_server(self) -> None:
        """Make PostgreSQL see that the server noted in ``postmaster.pid`` is gone; only when ``server()`` is None.

        PostgreSQL refuses to start as long as any process of the same account has the noted pid. The file is not
        removed, because it also names the shared memory that children of the dead server may still hold, and
        PostgreSQL looks for them there. Our own pid is put in instead: PostgreSQL knows its caller is no server.
        """
        noted = self.cluster.data / "postmaster.pid"
        if not noted.exists():
            return
        pid = self._noted_pid()
        if pid is None:
            if processes.working_in(self.cluster.data, self.cluster.account):
                raise PostgresError(
                    f"{noted} is unreadable, and processes still work in {self.cluster.data} "
                    f"({self._leftovers()}). Stop them (kill -QUIT), then start again."
                )
            noted.unlink()
        elif processes.exists(pid):
            with noted.open("r+", errors="surrogateescape") as file:
                rest = file.read().partition("\n")[2]
                file.seek(0)
                file.truncate()
                file.write(f"{os.getpid()}\n{rest}")

    def _leftovers(self) -> str:
        pids = processes.working_in(self.cluster.data, self.cluster.account)
        return ", ".join(map(str, pids)) or "none that can be seen"
