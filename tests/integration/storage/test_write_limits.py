"""How often somebody may write: counted in the database, however many ask at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.errors import TooManyRequests
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.callers import LimitWrites
from tests.integration.storage.rows import with_stopped_clock
from tests.refusals import refuses

# So long that nothing of it passes while a test runs.
HOUR = 3600.0


def take(store: Store, caller: str = "ann", *, interval: float = HOUR, burst: int = 3) -> float | None:
    with store.begin() as tx:
        return tx.write_limits.take(caller, interval=interval, burst=burst)


def pass_time(engine: sa.Engine, seconds: float) -> None:
    """Set everything back, which is the same as waiting."""
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE rate_limits SET free_at = free_at - :s * interval '1 s'"), {"s": seconds})


def callers(engine: sa.Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(sa.text("SELECT caller FROM rate_limits ORDER BY 1")).scalars())


def test_so_many_at_once_and_no_more(store: Store) -> None:
    assert [take(store) for _ in range(3)] == [None] * 3

    pause = take(store)

    assert pause == pytest.approx(HOUR, abs=60)


def test_what_is_refused_is_not_counted(store: Store) -> None:
    for _ in range(3):
        take(store)

    pauses = [take(store) for _ in range(5)]

    assert all(pause == pytest.approx(HOUR, abs=60) for pause in pauses)


def test_after_the_pause_one_more_is_let_through_and_only_one(store: Store, engine: sa.Engine) -> None:
    for _ in range(3):
        take(store)
    pause = take(store)
    assert pause is not None
    pass_time(engine, pause - 60)
    assert take(store) is not None

    pass_time(engine, 61)

    assert take(store) is None
    assert take(store) is not None


def test_whoever_pauses_long_may_write_at_once_again_but_saves_up_no_more(store: Store, engine: sa.Engine) -> None:
    for _ in range(3):
        take(store)
    pass_time(engine, 100 * HOUR)

    assert [take(store) is None for _ in range(5)] == [True, True, True, False, False]


def test_callers_are_counted_apart(store: Store) -> None:
    assert [take(store, burst=1) is None for _ in range(2)] == [True, False]

    assert take(store, "bob", burst=1) is None


def test_of_many_at_once_exactly_as_many_get_through(store: Store) -> None:
    """The first of all of them, too, which make the row."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: take(store, burst=10), range(40)))

    assert found.count(None) == 10


def test_who_has_not_written_for_days_is_forgotten_when_somebody_new_writes(store: Store, engine: sa.Engine) -> None:
    take(store, "ann")
    take(store, "bob")
    pass_time(engine, 30 * HOUR)
    take(store, "bob")
    assert callers(engine) == ["ann", "bob"]

    take(store, "eve")

    assert callers(engine) == ["bob", "eve"]


def test_the_pause_is_told_in_whole_seconds(engine: sa.Engine, storage_url: str) -> None:
    stopped = connect(with_stopped_clock(engine, storage_url), pool_size=1)
    limit = LimitWrites(Store(stopped, ProcrastinateWakeup()), per_minute=6, burst=1)
    limit("ann")

    with refuses(TooManyRequests) as caught:
        limit("ann")

    assert caught.value.seconds == 10
    stopped.dispose()


def test_without_a_limit_nobody_is_counted(store: Store, engine: sa.Engine) -> None:
    limit = LimitWrites(store, per_minute=0, burst=1)
    for _ in range(5):
        limit("ann")

    assert callers(engine) == []
