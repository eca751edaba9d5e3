"""The site's clock goes on evenly while somebody sets the database's."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.storage import tables as t
from shipyard_api.storage.clock import Anchor, DatabaseClock, step_of
from shipyard_api.storage.unit_of_work import Store, connect
from tests.integration.storage.conftest import new_action

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
HOUR, SECOND, NONE = timedelta(hours=1), timedelta(seconds=1), timedelta(0)


@pytest.mark.parametrize(
    ("site", "seconds", "others", "step"),
    [
        pytest.param(NOON + 5 * SECOND, 105.0, (), NONE, id="nobody has set it"),
        pytest.param(NOON + HOUR + 5 * SECOND, 105.0, (), HOUR, id="set ahead"),
        pytest.param(NOON - HOUR + 5 * SECOND, 105.0, (), -HOUR, id="set back"),
        pytest.param(NOON + 6.5 * SECOND, 105.0, (), NONE, id="drift"),
        pytest.param(NOON + HOUR, 3700.0, (), NONE, id="nobody has looked for an hour"),
        pytest.param(NOON + HOUR, 105.0, (NOON + HOUR - SECOND,), NONE, id="this host was suspended"),
        pytest.param(NOON + HOUR + 5 * SECOND, 105.0, (NOON + 2 * SECOND,), HOUR, id="set ahead, two hosts"),
        pytest.param(NOON + 15 * SECOND, 105.0, (NOON + 2 * SECOND,), 10 * SECOND, id="ahead by seconds, two hosts"),
        pytest.param(NOON + 15 * SECOND, 105.0, (NOON + 9 * SECOND,), NONE, id="suspended for seconds, two hosts"),
        pytest.param(NOON - 5 * SECOND, 105.0, (NOON + 2 * SECOND,), -10 * SECOND, id="set back by seconds, two hosts"),
        pytest.param(NOON - HOUR + 5 * SECOND, 105.0, (NOON + 2 * SECOND,), -HOUR, id="set back, two hosts"),
    ],
)
def test_a_step_is_told_from_time_that_has_passed(
    site: datetime, seconds: float, others: tuple[datetime, ...], step: timedelta
) -> None:
    assert step_of(site, seconds, Anchor(NOON, 100.0), others) == step
    assert step_of(site, seconds, None, others) == NONE
    assert step_of(site, seconds, Anchor(NOON, 100.0), others, inaccuracy=2 * HOUR.total_seconds()) == NONE


Set = Callable[[str], None]


@pytest.fixture
def settable(database_url: str) -> Iterator[tuple[sa.Engine, Set]]:
    """The database, and a function that sets its clock: ahead by an interval."""
    functions = "".join(
        f"CREATE FUNCTION shim.{name}() RETURNS timestamptz LANGUAGE sql VOLATILE AS "
        f"$$ SELECT pg_catalog.{name}() + ahead FROM shim.clock $$;"
        for name in ("now", "clock_timestamp")
    )
    engine = connect(f"{database_url}?options=-c%20search_path%3Dshim%2Cpg_catalog%2Cpublic", pool_size=2)
    with engine.begin() as connection:
        schema = "CREATE SCHEMA shim; CREATE TABLE shim.clock (ahead interval); INSERT INTO shim.clock VALUES ('0');"
        connection.exec_driver_sql(schema + functions)

    def be_ahead(interval: str) -> None:
        with engine.begin() as connection:
            connection.execute(sa.text("UPDATE shim.clock SET ahead = CAST(:ahead AS interval)"), {"ahead": interval})

    yield engine, be_ahead
    engine.dispose()


def waits(engine: sa.Engine) -> list[float]:
    """Seconds until each job of the queue is due, as the queue sees it."""
    query = "SELECT extract(epoch FROM scheduled_at - clock_timestamp()) FROM procrastinate_jobs ORDER BY id"
    with engine.connect() as connection:
        return [float(one) for one in connection.exec_driver_sql(query).scalars()]


@pytest.mark.parametrize("ahead", ["1 hour", "-1 hour"])
@pytest.mark.parametrize("restarted", [False, True], ids=["seen by a running worker", "seen after a restart"])
def test_pauses_are_kept_while_the_databases_clock_is_set(
    settable: tuple[sa.Engine, Set], ahead: str, restarted: bool
) -> None:
    engine, be_ahead = settable
    store, clock = Store(engine, ProcrastinateWakeup()), DatabaseClock(engine, ProcrastinateWakeup())
    began = clock.measure().at
    with store.begin() as tx:
        action = new_action("a")
        tx.actions.create(action)
        claim = tx.turns.claim(action.id, now=clock.now(), worker="w")
        assert claim is not None
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM procrastinate_jobs")
    with store.begin() as tx:
        tx.turns.sleep(claim, until=clock.now() + timedelta(seconds=100))

    be_ahead(ahead)
    seen = DatabaseClock(engine, ProcrastinateWakeup()) if restarted else clock
    seen.measure()

    assert NONE <= seen.now() - began < timedelta(seconds=60)
    # The job, moved, and another one for the case that it had come too early.
    assert [40 < wait <= 101 for wait in waits(engine)] == [True, True]
    with store.begin() as tx:
        assert tx.turns.overdue(grace=10.0) == []
        assert tx.turns.claim(action.id, now=seen.now(), worker="w") is None
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT ahead::text FROM site_clock").scalar_one().lstrip("-") != "00:00:00"


def test_when_nothing_runs_the_sites_clock_is_the_databases_again(settable: tuple[sa.Engine, Set]) -> None:
    engine, be_ahead = settable
    clock = DatabaseClock(engine, ProcrastinateWakeup())
    began = clock.measure().at
    be_ahead("1 hour")
    assert clock.measure().at - began < timedelta(minutes=10)

    assert clock.measure().at - began >= HOUR
    assert DatabaseClock(engine, ProcrastinateWakeup()).measure().at - began >= HOUR


def test_what_people_asked_for_has_the_times_of_the_site(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO site_clock (id, ahead) VALUES (1, '1 hour')")
    store, action = Store(engine, ProcrastinateWakeup()), new_action("a")
    with store.begin() as tx:
        tx.actions.create(action)

    with engine.connect() as connection:
        now: datetime = connection.execute(sa.select(sa.func.site_time())).scalar_one()
        created: datetime = connection.execute(sa.select(t.actions.c.created_at)).scalar_one()
        asked: datetime = connection.execute(sa.select(t.command_audit.c.at)).scalar_one()
    assert NONE <= now - created < HOUR / 2
    assert NONE <= now - asked < HOUR / 2
