"""Serve the databases of a test run until the run has ended: ``python -m tests.run_postgres DIRECTORY``."""

from __future__ import annotations

import fcntl
import shutil
import sys
from pathlib import Path

import psycopg2
import sqlalchemy as sa

from shipyard_api.storage import migrations
from shipyard_simulators.embedded_postgres.server import temporary
from tests.databases import ROOT, TEMPLATE

SETTINGS = {
    # Speed before safety.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "jit": "off",
    # All databases of a run, with the catalogues that each new connection reads.
    "shared_buffers": "256MB",
    # An API keeps connections for as long as its process lives, and the tests of a run make many of them.
    "max_connections": "600",
    # A password that is checked in no time: tests connect thousands of times.
    "scram_iterations": "1",
}


def main(directory: Path) -> None:
    """Start the server, print a line when the template is there, and end with the run."""
    with temporary(SETTINGS) as server:
        head, _, _database = server.url.rpartition("/")
        password = server.url.partition("@")[0].rpartition(":")[2]
        connection = psycopg2.connect(server.url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT format('ALTER ROLE %%I PASSWORD %%L', current_user, %s)", (password,))
            cursor.execute(cursor.fetchone()[0])
            cursor.execute(f"CREATE DATABASE {TEMPLATE}")
        connection.close()
        engine = sa.create_engine(f"{head}/{TEMPLATE}".replace("postgresql", "postgresql+psycopg2", 1))
        migrations.upgrade(engine, ROOT / "migrations")
        engine.dispose()
        (directory / "url").write_text(server.url)
        print("ready", flush=True)
        with (directory / "alive").open("r+b") as alive:
            fcntl.lockf(alive, fcntl.LOCK_EX)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
