"""A PostgreSQL server of our own for one data directory: durable, on 127.0.0.1 only, with one owner at a time.

The server is a process of its own and survives an owner that is killed; no data is lost. The owner holds a lock on the
data directory for its whole life. So the next owner (``start``, ``stop_orphan``) knows that the former one is gone,
stops its server, and starts a new one. A supervisor needs no watcher: it calls ``stop`` at its own end, and ``start``
does the rest. It must not fork without exec while it owns a server, because the child would keep the lock.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import psycopg2

from shipyard_simulators.embedded_postgres import binaries, processes, tcp_port
from shipyard_simulators.embedded_postgres.cluster import ROLE, Cluster
from shipyard_simulators.embedded_postgres.control import Control, Failure, FailureCause
from shipyard_simulators.embedded_postgres.errors import PostgresError

__all__ = ["DEFAULTS", "PostgresError", "RunningPostgres", "start", "stop_orphan", "temporary"]

DATABASE = "shipyard"
DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "fsync": "on",
        "synchronous_commit": "on",
        "shared_buffers": "32MB",
        "max_connections": "60",
        # Limits the duration of a recovery after a crash.
        "max_wal_size": "256MB",
    }
)
_NONE: Mapping[str, str] = MappingProxyType({})
_OURS_TO_SAY = ("port", "data_directory")
_PAUSE = 0.1


class RunningPostgres:
    """A server that this process owns; as a context manager, it stops at the end. Not thread-safe.

    ``url`` is that of the database ``shipyard``, with the password; it stays the same over ``restart``. ``pid`` is that
    of the server's first process.
    """

    url: str
    pid: int

    def __init__(self, cluster: Cluster, control: Control, settings: Mapping[str, str], *, lock: int) -> None:
        self._cluster = cluster
        self._control = control
        self._settings = {**DEFAULTS, **settings}
        self._password = cluster.password()
        self._lock: int | None = lock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def is_running(self) -> bool:
        """Return whether the server's first process runs; it may still reject connections."""
        return self._control.server() is not None

    def stop(self) -> None:
        """Stop the server and release the data directory. Clients are disconnected, committed work is kept.

        Takes up to 10 s; may be repeated. Raises PostgresError, and keeps the directory, if the server does not stop.
        """
        if self._lock is not None:
            self._control.stop()
            self._give_up()

    def restart(self, *, timeout: float = 60.0) -> None:
        """Stop the server, if it still runs, and start it on the same port; ``timeout``: seconds for the start.

        Raises PostgresError after ``stop``, or if it does not start; then it may be repeated.
        """
        if self._lock is None:
            raise PostgresError(f"PostgreSQL on {self._cluster.data} was stopped; call start() again.")
        port = self._cluster.record().port or tcp_port.free()
        self._launch(port, otherwise=lambda: port, timeout=timeout)

    def _begin(self, timeout: float) -> None:
        """Start the first time: on the last port or on any free one. A failure releases the data directory."""
        try:
            port = self._cluster.record().port or tcp_port.free()
            self._ensure_database(self._launch(port, otherwise=tcp_port.free, timeout=timeout))
        except BaseException:
            with contextlib.suppress(PostgresError, OSError):
                self._control.stop()
            self._give_up()
            raise

    def _give_up(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            try:
                self._cluster.write_record(replace(self._cluster.record(), owner=None, owner_identity=None))
            finally:
                os.close(lock)

    def _launch(self, port: int, *, otherwise: Callable[[], int], timeout: float) -> int:
        self._control.stop()
        deadline = time.monotonic() + timeout
        while True:
            self._note(port)
            failure = self._control.start(port, self._settings, seconds=deadline - time.monotonic())
            if failure is None:
                break
            if failure.cause is FailureCause.OTHER or time.monotonic() > deadline:
                raise PostgresError(self._control.explain(failure, port))
            if failure.cause is FailureCause.PORT_TAKEN:
                port = otherwise()
            time.sleep(_PAUSE)
        server = self._control.server()
        if server is None:
            raise PostgresError(self._control.explain(Failure("It started and exited at once."), port))
        self.pid = server
        self.url = f"postgresql://{ROLE}:{self._password}@127.0.0.1:{port}/{DATABASE}"
        return port

    def _note(self, port: int) -> None:
        record = replace(
            self._cluster.record(),
            word=self._control.word,
            port=port,
            owner=os.getpid(),
            owner_identity=processes.identity(os.getpid()),
            version=self._control.binaries.version,
        )
        self._cluster.write_record(record)

    def _ensure_database(self, port: int) -> None:
        connection = None
        try:
            connection = psycopg2.connect(
                host="127.0.0.1", port=port, user=ROLE, password=self._password, dbname="postgres",
                sslmode="disable", gssencmode="disable", connect_timeout=10,
            )  # fmt: skip
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
                if cursor.fetchone() is None:
                    cursor.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg2.Error as error:
            if "password authentication failed" in str(error):
                raise PostgresError(
                    f"The password in {self._cluster.beside('password')} does not match the data in "
                    f"{self._cluster.data}. Restore the file from the backup: data and password belong together."
                ) from error
            raise PostgresError(f"PostgreSQL on {self._cluster.data} runs but rejects connections: {error}") from error
        finally:
            if connection is not None:
                connection.close()


def start(data_directory: Path, *, settings: Mapping[str, str] = _NONE, timeout: float = 60.0) -> RunningPostgres:
    """Run PostgreSQL on a directory, created if missing, and own it until ``stop`` or the end of this process.

    A server that a killed owner left is stopped first, and a crash of the server is recovered from. ``settings`` are
    PostgreSQL's own and override ``DEFAULTS``. ``timeout``: seconds for the start, without the creation of the data.
    The port is that of the last run if it is still free. As root, the server runs as another account (see ``account``).
    Raises PostgresError: owned by a live process, not reachable, of another version, or not starting.
    """
    for name in settings:
        if name.lower() in _OURS_TO_SAY:
            raise PostgresError(f"The setting {name!r} of PostgreSQL cannot be set: Shipyard sets it.")
    with _said_plainly(data_directory), contextlib.ExitStack() as undo:
        cluster = Cluster.at(data_directory)
        cluster.make_parents()
        lock = cluster.lock()
        undo.callback(os.close, lock)
        cluster.remove_unfinished()
        control = _control(cluster)
        if cluster.major() is None:
            options = ("--no-sync",) if settings.get("fsync") == "off" else ()
            cluster.initialise(control.binaries, options=options)
        server = RunningPostgres(cluster, control, settings, lock=lock)
        undo.pop_all()  # from here on the server gives the lock back
        server._begin(timeout)
        return server


def stop_orphan(data_directory: Path) -> int | None:
    """Stop the server that a killed owner left, and return its pid; None if there is none.

    Raises PostgresError if the owner lives, or if the server is not ours.
    """
    if not (data_directory / "PG_VERSION").exists():
        return None
    with _said_plainly(data_directory):
        cluster = Cluster.at(data_directory)
        lock = cluster.lock()
        try:
            control = _control(cluster)
            server = control.server()
            control.stop()
            return server
        finally:
            os.close(lock)


@contextlib.contextmanager
def temporary(settings: Mapping[str, str] = _NONE) -> Iterator[RunningPostgres]:
    """Run a server on a fresh temporary directory; both are gone after the block.

    Use ``{"fsync": "off"}`` where the data may be lost in a crash of the machine. If this process is killed, the server
    and its directory stay. Raises PostgresError as ``start`` does.
    """
    directory = Path(tempfile.mkdtemp(prefix="shipyard-postgres-"))
    try:
        if os.geteuid() == 0:
            directory.chmod(0o755)  # the server's account must pass
        with start(directory / "data", settings=settings) as server:
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _control(cluster: Cluster) -> Control:
    """The caller holds the lock."""
    found = binaries.find(cluster.data, cluster.major())
    return Control(
        cluster, binaries.within_reach(found, cluster.account, cluster.beside("binaries")), cluster.record().word
    )


@contextlib.contextmanager
def _said_plainly(data_directory: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise PostgresError(
            f"PostgreSQL cannot be run on {data_directory}: {error}. Run as the account that owns it, or "
            "choose another data directory (--data-dir)."
        ) from error
    except OSError as error:
        raise PostgresError(f"PostgreSQL cannot be run on {data_directory}: {error}") from error
