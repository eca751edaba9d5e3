"""The files of a server: its data directory, and the few files beside it that must not be inside."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from shipyard_simulators.embedded_postgres import account as accounts
from shipyard_simulators.embedded_postgres import processes
from shipyard_simulators.embedded_postgres.account import SystemAccount
from shipyard_simulators.embedded_postgres.binaries import Binaries
from shipyard_simulators.embedded_postgres.errors import PostgresError

ROLE = "shipyard"
_UNFINISHED = ".unfinished-"
_PATIENCE_SECONDS = 5
_LOG_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """What one run leaves for the next: the owner, the port, and the word that marks the server as ours.

    The word is on the server's command line and stays the same from run to run, so it is known before a server starts.
    A killed owner therefore never leaves a server that the next one does not recognise.
    """

    word: str
    port: int | None = None
    owner: int | None = None
    owner_identity: str | None = None
    version: str | None = None

    def owner_lives(self) -> bool:
        """Whether the process that started the server still runs; a reused pid does not count."""
        return self.owner is not None and processes.identity(self.owner) == self.owner_identity


@dataclass(frozen=True, slots=True)
class Cluster:
    """A data directory, by its real path, and the account that owns it or will own it.

    Its siblings are ``<data>.password``, ``.log``, ``.lock``, ``.owner``, ``.binaries`` and, while the data is being
    created, ``.unfinished-*``.
    """

    data: Path
    account: SystemAccount

    @classmethod
    def at(cls, data_directory: Path) -> Self:
        """Return the cluster of a directory that may not exist yet; two names of one directory give one cluster."""
        data = data_directory.resolve()
        return cls(data, accounts.choose(data))

    def beside(self, kind: str) -> Path:
        """Return the sibling of that kind."""
        return self.data.with_name(f"{self.data.name}.{kind}")

    def make_parents(self) -> None:
        """Create the missing parent directories, open for passing through.

        Raises PostgresError if the account cannot pass the existing ones.
        """
        missing = [parent for parent in self.data.parents if not parent.exists()]
        self.account.require_entry(missing[-1].parent if missing else self.data.parent)
        for parent in reversed(missing):
            parent.mkdir(mode=0o755, exist_ok=True)
            parent.chmod(0o755)  # independent of the umask

    def lock(self) -> int:
        """Lock the data directory for this process; the lock lasts until the descriptor is closed, or the process ends.

        Raises PostgresError, naming the owner, if it is locked.
        """
        descriptor = os.open(self.beside("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            taken = True
        else:
            # A second check, for file systems whose locks do not hold.
            record = self.record()
            taken = record.owner != os.getpid() and record.owner_lives()
        if taken:
            os.close(descriptor)
            raise PostgresError(self._taken(self.record()))
        return descriptor

    def _taken(self, record: OwnerRecord) -> str:
        who = f"process {record.owner}" if record.owner_lives() else f"a process that holds {self.beside('lock')}"
        return (
            f"Another Shipyard ({who}) already runs PostgreSQL on {self.data}. "
            "Stop that one first, or choose another data directory (--data-dir)."
        )

    def record(self) -> OwnerRecord:
        """Return the record of the last run; a fresh one if it left none that can be read."""
        try:
            return OwnerRecord(**json.loads(self.beside("owner").read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return OwnerRecord(word=secrets.token_hex(8))

    def write_record(self, record: OwnerRecord) -> None:
        """Replace the record."""
        _write(self.beside("owner"), json.dumps(asdict(record)) + "\n")

    def password(self) -> str:
        """Return the password of the role ``shipyard``. Raises PostgresError if its file is missing."""
        try:
            return self.beside("password").read_text().strip()
        except FileNotFoundError:
            raise PostgresError(
                f"There is data in {self.data}, but the file with its password, {self.beside('password')}, is missing. "
                "Restore it from the backup: data and password belong together."
            ) from None

    def major(self) -> int | None:
        """Return the major version of the data; None if there is none yet.

        Raises PostgresError if the directory holds something else.
        """
        with contextlib.suppress(FileNotFoundError):
            return int((self.data / "PG_VERSION").read_text())
        if self.data.exists() and any(self.data.iterdir()):
            raise PostgresError(
                f"{self.data} holds files but no PostgreSQL data, so Shipyard writes nothing there. Choose a "
                "data directory that is empty or does not exist (--data-dir); below a mount point, a directory in it."
            )
        return None

    def remove_unfinished(self) -> None:
        """Remove data that a killed owner did not finish creating. Takes up to 5 s, as its initdb may still run.

        Anything left after that is removed next time. The caller holds the lock.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            left = [path for path in self.data.parent.iterdir() if path.name.startswith(self.data.name + _UNFINISHED)]
            if not left:
                return
            for path in left:
                shutil.rmtree(path, ignore_errors=True)
            time.sleep(0.01)

    def initialise(self, binaries: Binaries, *, options: tuple[str, ...] = ()) -> None:
        """Create the data under another name and rename it when complete, so a crash leaves no half-made data.

        ``options``: further options of initdb.
        """
        if not self.beside("password").exists():
            _write(self.beside("password"), secrets.token_urlsafe(24) + "\n")
        scratch = Path(tempfile.mkdtemp(prefix=f"{self.data.name}{_UNFINISHED}", dir=self.data.parent))
        try:
            lent = scratch / "password"
            _write(lent, self.password() + "\n")
            for path in (scratch, lent):
                os.chown(path, self.account.uid, self.account.gid)
            made = self.account.run([
                binaries.program("initdb"), "--pgdata", str(scratch / "data"), "--username", ROLE,
                "--auth", "scram-sha-256", "--pwfile", str(lent),
                "--encoding", "UTF8", "--locale", _locale(), *options,
            ])  # fmt: skip
            if made.returncode != 0:
                raise PostgresError(
                    f"PostgreSQL could not create its data in {self.data}. initdb says:\n{made.stdout.strip()}"
                )
            self._move_in(scratch / "data")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _move_in(self, made: Path) -> None:
        try:
            made.rename(self.data)
        except OSError as error:
            raise PostgresError(
                f"The new data cannot be moved to {self.data} ({error.strerror}). If that is a mount point, choose a "
                "directory below it (--data-dir)."
            ) from error
        parent = os.open(self.data.parent, os.O_RDONLY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)

    def open_log(self) -> int:
        """Return a descriptor to append to the server's log; a log of more than 16 MiB is moved to ``.log.1`` first."""
        log = self.beside("log")
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.replace(self.beside("log.1"))
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _locale() -> str:
    return "C" if os.uname().sysname == "Darwin" else "C.UTF-8"


def _write(path: Path, text: str) -> None:
    """Replace a file atomically and durably, readable for its owner only. No other process may write it."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    unfinished.replace(path)
