"""All sites of a process together open no more connections than the bound says."""

from __future__ import annotations

from contextlib import ExitStack

import psycopg2
import pytest
import sqlalchemy as sa

from shipyard_api.storage.connections import ConnectionBound
from shipyard_api.storage.unit_of_work import connect


def pid(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one())


def alive(url: str) -> set[int]:
    with psycopg2.connect(url) as asking, asking.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return {row[0] for row in cursor.fetchall()}


def test_a_connection_too_many_takes_the_place_of_the_one_that_was_idle_for_longest(database_url: str) -> None:
    bound = ConnectionBound(2)
    engines = [connect(database_url, pool_size=1, open_with=bound.open) for _ in range(3)]
    bound.watch(*engines)
    with ExitStack() as cleanup:
        for engine in engines:
            cleanup.callback(engine.dispose)
        first, second = pid(engines[0]), pid(engines[1])
        assert pid(engines[0]) == first
        third = pid(engines[2])

        assert {first, third} <= alive(database_url)
        assert pid(engines[0]) == first
        assert pid(engines[1]) != second


def test_without_an_idle_connection_a_further_one_is_refused_and_later_made(database_url: str) -> None:
    bound = ConnectionBound(1)
    engines = [connect(database_url, pool_size=1, open_with=bound.open) for _ in range(2)]
    bound.watch(*engines)
    with ExitStack() as cleanup:
        for engine in engines:
            cleanup.callback(engine.dispose)
        with engines[0].connect(), pytest.raises(sa.exc.OperationalError, match="all 1 database connections"):
            pid(engines[1])

        assert pid(engines[1])
        assert not bound.is_out_of_reach(database_url)


def test_a_database_out_of_reach_fails_at_once_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now, attempts = [100.0], []

    def refuse(url: str) -> None:
        attempts.append(url)
        raise psycopg2.OperationalError("refused")

    monkeypatch.setattr("shipyard_api.storage.connections.open_connection", refuse)
    monkeypatch.setattr("shipyard_api.storage.connections.time.monotonic", lambda: now[0])
    bound = ConnectionBound(4)
    tried = []
    for at in (0.0, 0.9, 1.1, 3.0, 3.2, 7.0, 7.3):
        now[0] = 100.0 + at
        with pytest.raises(psycopg2.OperationalError):
            bound.open("dark")
        tried.append(len(attempts))

    assert tried == [1, 1, 2, 2, 3, 3, 4]
    assert bound.is_out_of_reach("dark")
