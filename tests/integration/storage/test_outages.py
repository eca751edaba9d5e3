"""A database that is not there, goes away, or has no room left; and one that comes back."""

import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import psycopg2
import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage import unit_of_work
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_simulators.held_port import HeldPort


def store_at(url: str) -> Store:
    return Store(connect(url, pool_size=1), ProcrastinateWakeup())


def ask(store: Store) -> int:
    with store.begin() as tx:
        return len(tx.actions.matching())


@pytest.fixture
def hangs_up() -> Iterator[int]:
    """The port of something that takes connections and closes them."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_all() -> None:
            try:
                while True:
                    server.accept()[0].close()
            except OSError:
                return

        threading.Thread(target=close_all, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_nobody_listens() -> None:
    with HeldPort() as held, pytest.raises(StoreUnavailable) as caught:
        ask(store_at(f"postgresql://me:secret@127.0.0.1:{held.number}/x"))

    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_somebody_hangs_up(hangs_up: int) -> None:
    with pytest.raises(StoreUnavailable):
        ask(store_at(f"postgresql://me@127.0.0.1:{hangs_up}/x"))


def test_the_password_is_wrong(database_url: str) -> None:
    url = sa.make_url(database_url).set(password="wrong").render_as_string(hide_password=False)

    with pytest.raises(StoreUnavailable, match="password"):
        ask(store_at(url))


def test_there_is_no_such_database(database_url: str) -> None:
    with pytest.raises(StoreUnavailable, match="does not exist"):
        ask(store_at(f"{database_url}_gone"))


def test_a_connection_that_died_between_two_transactions_is_replaced(database_url: str) -> None:
    store = store_at(database_url)
    assert ask(store) == 0
    cut_off(database_url)

    assert ask(store) == 0
    store.dispose()


@pytest.mark.parametrize(("idle", "asked"), [(0.0, 0), (1.5, 1)], ids=["a busy connection", "an idle one"])
def test_only_an_idle_connection_costs_a_question(
    database_url: str, monkeypatch: pytest.MonkeyPatch, idle: float, asked: int
) -> None:
    engine = connect(database_url, pool_size=1)
    questions: list[object] = []
    monkeypatch.setattr(engine.dialect, "do_ping", questions.append)
    clock = iter([0.0, 0.0, idle, idle])  # taken, returned, taken, returned
    monkeypatch.setattr(unit_of_work, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for _ in range(2):
        with engine.connect() as connection:
            assert connection.execute(sa.text("SELECT 1")).scalar_one() == 1
    assert len(questions) == asked
    engine.dispose()


def test_a_connection_that_dies_within_a_transaction_is_an_outage(database_url: str) -> None:
    store = store_at(database_url)

    def cut_in_the_middle() -> None:
        with store.begin() as tx:
            tx.tokens.create("ann", "admin", bytes(32), None)
            cut_off(database_url)
            tx.actions.matching()

    with pytest.raises(StoreUnavailable):
        cut_in_the_middle()
    with store.begin() as tx:
        assert tx.tokens.every() == []
    store.dispose()


def test_one_that_dies_before_it_could_commit_is_an_outage_too(database_url: str) -> None:
    store = store_at(database_url)

    def cut_at_the_end() -> None:
        with store.begin() as tx:
            tx.tokens.create("ann", "admin", bytes(32), None)
            cut_off(database_url)

    with pytest.raises(StoreUnavailable):
        cut_at_the_end()
    with store.begin() as tx:
        assert tx.tokens.every() == []
    store.dispose()


def test_a_wrong_statement_is_no_outage(database_url: str) -> None:
    store = store_at(database_url)
    with pytest.raises(sa.exc.ProgrammingError), store.begin() as tx:
        tx.actions._connection.execute(sa.text("SELECT nothing FROM nowhere"))
    store.dispose()


def test_an_error_of_ours_passes_through(database_url: str) -> None:
    store = store_at(database_url)
    with pytest.raises(ZeroDivisionError), store.begin():
        raise ZeroDivisionError
    store.dispose()


def test_the_clock_is_the_databases(database_url: str) -> None:
    engine = connect(database_url, pool_size=1)
    clock = DatabaseClock(engine, ProcrastinateWakeup())

    with engine.connect() as connection:
        before = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
        now = clock.now()
        after = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    engine.dispose()

    assert before <= now <= after or abs((now - before).total_seconds()) < 1
    assert now.utcoffset().total_seconds() == 0
    assert clock.now() >= now


def cut_off(url: str) -> None:
    """End every other session of the database, as a restart does."""
    connection = psycopg2.connect(url)
    try:
        connection.cursor().execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        connection.close()


def test_asking_a_clock_that_cannot_be_reached_is_an_outage_too(hangs_up: int) -> None:
    clock = DatabaseClock(
        connect(f"postgresql://shipyard@127.0.0.1:{hangs_up}/shipyard", pool_size=1), ProcrastinateWakeup()
    )
    with pytest.raises(StoreUnavailable):
        clock.now()
