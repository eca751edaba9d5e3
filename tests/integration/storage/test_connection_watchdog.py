"""A server that no longer answers anybody holds no thread; one that is busy keeps its connections."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from shipyard_api.storage.connections import ConnectionWatchdog
from shipyard_api.storage.unit_of_work import connect
from tests.cuttable import Line, cuttable
from tests.waiting import until


@pytest.fixture
def line(database_url: str) -> Iterator[Line]:
    with cuttable(database_url) as made:
        yield made


@contextmanager
def watched(url: str, patience: float) -> Iterator[sa.Connection]:
    """Open a connection that is watched; ``patience``: seconds that the server has to answer."""
    engine = connect(url, pool_size=1)
    ConnectionWatchdog(longest=0.1, patience=patience, every=0.05).watch(engine)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def test_a_frozen_server_holds_no_thread(line: Line) -> None:
    with watched(line.url, 0.1) as connection:
        line.hang()
        with pytest.raises(sa.exc.OperationalError) as caught:
            connection.execute(sa.text("SELECT 1"))

    assert caught.value.connection_invalidated


def test_a_busy_server_keeps_its_connections(line: Line) -> None:
    with watched(line.url, 60) as connection:
        assert connection.execute(sa.text("SELECT 1 FROM pg_sleep(0.6)")).scalar_one() == 1


def test_its_thread_lasts_as_long_as_there_are_connections(database_url: str) -> None:
    engine, before = connect(database_url, pool_size=1), set(threading.enumerate())
    ConnectionWatchdog(every=0.01).watch(engine)

    for _ in range(2):
        with engine.connect():
            until(lambda: [one.name for one in set(threading.enumerate()) - before] == ["database-silence"])
        engine.dispose()
        until(lambda: not set(threading.enumerate()) - before)
