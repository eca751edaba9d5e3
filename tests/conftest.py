"""What tests of every kind share: a real Postgres, started when the first test of a run asks for one.

Each test that asks for ``database_url`` gets a database of its own, cloned from one that was migrated once.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shipyard_simulators.embedded_postgres.server import RunningPostgres
    from tests.world import World

ROOT = Path(__file__).resolve().parent.parent
SITES = ROOT.parent / "shared" / "data" / "sites"

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[RunningPostgres]:
    """A server for this test process, with a migrated template database."""
    import sqlalchemy as sa

    from shipyard_api.storage import migrations
    from shipyard_simulators.embedded_postgres.server import temporary

    speed_before_safety = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    # An API keeps connections for as long as its process lives, and the tests of one process make many of them.
    many_at_once = {"max_connections": "300"}
    with temporary(speed_before_safety | many_at_once) as server:
        _execute(server.url, "CREATE DATABASE migrated")
        engine = sa.create_engine(_url(server.url, "migrated", "postgresql+psycopg2"))
        migrations.upgrade(engine, ROOT / "migrations")
        engine.dispose()
        yield server


@pytest.fixture
def database_url(postgres: RunningPostgres) -> Iterator[str]:
    """The address of an empty, migrated database for one test."""
    with migrated(postgres) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(postgres: RunningPostgres) -> Iterator[str]:
    """The address of a migrated database that the tests of one module share."""
    with migrated(postgres) as url:
        yield url


@pytest.fixture
def empty_database_url(postgres: RunningPostgres) -> Iterator[str]:
    """The address of a database without any table."""
    name = f"empty_{os.getpid()}_{next(_numbers)}"
    _execute(postgres.url, f"CREATE DATABASE {name}")
    yield _url(postgres.url, name)
    _execute(postgres.url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def worlds(database_url: str) -> Iterator[Callable[..., World]]:
    """Makes worlds, one after another, in one database that is emptied before each."""
    from shipyard_api.storage import tables
    from tests.world import World

    made: list[World] = []

    def make(**plan: Any) -> World:
        for world in made:
            world.close()
        ours = ", ".join(table.name for table in tables.metadata.sorted_tables)
        _execute(database_url, f"TRUNCATE {ours}, procrastinate_jobs CASCADE")
        made.append(World(database_url, **plan))
        return made[-1]

    yield make
    made[-1].close()


def site_file(name: str) -> Path:
    """A real site design; skips the test where the data is not there."""
    path = SITES / name
    if not path.is_file():
        pytest.skip(f"the real site designs are not beside this checkout ({path})")
    return path


@contextmanager
def migrated(postgres: RunningPostgres) -> Iterator[str]:
    """Give the address of a migrated database of one's own; it is dropped afterwards."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    _execute(postgres.url, f"CREATE DATABASE {name} TEMPLATE migrated")
    yield _url(postgres.url, name)
    _execute(postgres.url, f"DROP DATABASE {name} WITH (FORCE)")


def _url(url: str, database: str, scheme: str = "postgresql") -> str:
    head, _, _old = url.rpartition("/")
    return f"{head}/{database}".replace("postgresql", scheme, 1)


def _execute(url: str, statement: str) -> None:
    import psycopg2

    connection = psycopg2.connect(url)
    try:
        connection.autocommit = True
        connection.cursor().execute(statement)
    finally:
        connection.close()
