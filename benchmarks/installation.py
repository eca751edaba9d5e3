"""A database for benchmarks: an embedded Postgres with durable commits and Shipyard's tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import connect
from shipyard_simulators.embedded_postgres import server

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def database() -> Iterator[sa.Engine]:
    """Yield connections to a new database."""
    with server.temporary({}) as postgres:
        engine = connect(postgres.url, pool_size=2)
        migrations.upgrade(engine, ROOT / "migrations")
        yield engine
        engine.dispose()


@contextmanager
def address() -> Iterator[str]:
    """Yield the address of a new database."""
    with server.temporary({}) as postgres:
        engine = connect(postgres.url, pool_size=1)
        migrations.upgrade(engine, ROOT / "migrations")
        engine.dispose()
        yield postgres.url
