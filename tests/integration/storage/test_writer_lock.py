"""One writer at a time: among threads, among processes, and after one was killed while it wrote."""

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.documents import Revision
from shipyard_api.ports.documents import LockHeld, Overtaken
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.storage.writer_lock import SqlWriterLock
from tests.forked import ToItsEnd
from tests.integration.storage.test_outages import cut_off
from tests.integration.storage.writers import add_line, lines, write
from tests.waiting import PATIENCE, until


@pytest.fixture
def lock(engine: sa.Engine) -> SqlWriterLock:
    return SqlWriterLock(engine)


def writer(url: str, name: str, count: int) -> ToItsEnd:
    return ToItsEnd("tests.integration.storage.writers", [url, name, str(count)], os.environ)


def advisory_locks(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        count = sa.text(
            "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database "
            "WHERE locktype = 'advisory' AND datname = current_database()"
        )
        return int(connection.execute(count).scalar_one())


def test_only_one_holds_it(lock: SqlWriterLock, engine: sa.Engine) -> None:
    with lock.held():
        for other in (lock, SqlWriterLock(engine)):
            with pytest.raises(LockHeld), other.held():
                pytest.fail("two hold it")
    with lock.held():
        pass

    assert advisory_locks(engine) == 0


def test_an_error_of_the_holder_lets_it_go(lock: SqlWriterLock, engine: sa.Engine) -> None:
    for error in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(error), lock.held():
            raise error

    assert advisory_locks(engine) == 0


def test_no_transaction_is_open_while_it_is_held(lock: SqlWriterLock, engine: sa.Engine) -> None:
    sessions = sa.text(
        "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with lock.held(), engine.connect() as connection:
        assert set(connection.execute(sessions).scalars()) == {"idle"}


def test_its_connection_is_an_ordinary_one_afterwards(database_url: str) -> None:
    engine = connect(database_url, pool_size=1)
    with SqlWriterLock(engine).held():
        pass

    with engine.connect() as connection:
        connection.execute(sa.text("INSERT INTO revisions (id) VALUES (1)"))
        connection.rollback()
        assert connection.execute(sa.text("SELECT count(*) FROM revisions")).scalar_one() == 0
    assert engine.pool.checkedin() == 1  # type: ignore[attr-defined]  # of the pool that engines have by default
    engine.dispose()


def test_a_session_that_is_lost_takes_the_lock_with_it_and_breaks_nothing(database_url: str) -> None:
    engine = connect(database_url, pool_size=1)
    lock = SqlWriterLock(engine)

    with lock.held():
        cut_off(database_url)

    with lock.held():
        pass
    assert advisory_locks(engine) == 0
    engine.dispose()


@pytest.mark.parametrize(
    ("moment", "function", "error"),
    [
        pytest.param("before_cursor_execute", "pg_advisory_unlock", sa.exc.InvalidRequestError, id="not given back"),
        pytest.param("before_cursor_execute", "pg_advisory_unlock", KeyboardInterrupt, id="interrupted before that"),
        pytest.param("after_cursor_execute", "pg_try_advisory_lock", KeyboardInterrupt, id="interrupted at the start"),
    ],
)
def test_where_it_cannot_be_given_back_its_session_ends(
    database_url: str, moment: str, function: str, error: type[BaseException]
) -> None:
    """It must never go back to the pool with the lock, which nobody would ever take from it again."""
    engine = connect(database_url, pool_size=1)

    def break_in(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if function in statement:
            raise error

    sa.event.listen(engine, moment, break_in)
    with contextlib.suppress(KeyboardInterrupt), SqlWriterLock(engine).held():
        pass
    sa.event.remove(engine, moment, break_in)

    until(lambda: not advisory_locks(engine), every=0.01)
    with SqlWriterLock(engine).held():
        pass
    assert advisory_locks(engine) == 0
    engine.dispose()


def test_a_database_out_of_reach_is_an_outage() -> None:
    engine = connect("postgresql://me@127.0.0.1:1/x", pool_size=1)

    with pytest.raises(StoreUnavailable), SqlWriterLock(engine).held():
        pytest.fail("nobody gave it")


def test_ten_writers_lose_nothing_though_one_is_killed(engine: sa.Engine, storage_url: str) -> None:
    names = [f"w{number}" for number in range(9)]
    each = 3

    def kill_the_holder(holder: ToItsEnd) -> None:
        while holder.said() != "held\n":
            assert holder.poll() is None, holder.said()
            time.sleep(0.01)
        with pytest.raises(LockHeld), SqlWriterLock(engine).held():
            pytest.fail("two hold it")
        holder.send_signal(signal.SIGKILL)

    with contextlib.ExitStack() as running:
        killed = running.enter_context(writer(storage_url, "killed", 0))
        others = [running.enter_context(writer(storage_url, name, each)) for name in names[5:]]
        with ThreadPoolExecutor(6) as threads:
            work = [threads.submit(write, engine, name, each) for name in names[:5]]
            work.append(threads.submit(kill_the_holder, killed))
            for one in work:
                one.result(timeout=PATIENCE)
        assert [other.end() for other in others] == [(0, "")] * 4
        assert killed.wait(PATIENCE) < 0

    designs = SqlDesigns(engine, None, lambda _: lambda _: ())
    written = lines(designs, designs.heads().head)
    assert sorted(written) == sorted(["killed 0", *(f"{name} {number}" for name in names for number in range(each))])
    records = designs.revisions(after=Revision(0), limit=1000)
    assert [record.revision for record in records] == list(range(1, len(written) + 1))
    assert [len(lines(designs, record.revision)) for record in records] == list(range(1, len(written) + 1))
    assert advisory_locks(engine) == 0


def test_even_without_the_lock_nothing_is_lost_and_no_number_is_skipped(engine: sa.Engine) -> None:
    """Such as when a holder lost its session: then the store itself says that it was overtaken."""
    designs = SqlDesigns(engine, None, lambda _: lambda _: ())
    together = threading.Barrier(4)

    def write_unlocked(name: str) -> int:
        overtaken = 0
        together.wait()
        for number in range(8):
            while True:
                try:
                    add_line(designs, f"{name} {number}")
                    break
                except Overtaken:
                    overtaken += 1
        return overtaken

    with ThreadPoolExecutor(4) as threads:
        overtaken = sum(threads.map(write_unlocked, "abcd"))

    assert overtaken > 0
    assert len(set(lines(designs, designs.heads().head))) == 32
    assert [one.revision for one in designs.revisions(after=Revision(0), limit=99)] == list(range(1, 33))
