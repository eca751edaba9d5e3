"""A database that tells another history than before: who notices, what is stored, and what is fenced."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ActionId, RunState, StepId
from shipyard_api.domain.histories import Position
from shipyard_api.domain.items import ItemId, NewItem
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from shipyard_api.storage import tables
from shipyard_api.storage.histories import CONNECTION, HIGHEST, TOPIC
from shipyard_api.storage.site_tables import histories
from shipyard_api.storage.unit_of_work import Store, connect

Create = Callable[..., ActionId]
NOW = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def restart(storage_url: str) -> Iterator[Callable[[], Store]]:
    """Return stores that have just been connected."""
    engines: list[sa.Engine] = []

    def connected() -> Store:
        engines.append(connect(storage_url, pool_size=1))
        return Store(engines[-1], ProcrastinateWakeup())

    yield connected
    for engine in engines:
        engine.dispose()


def numbers(engine: sa.Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.execute(sa.select(histories.c.number).order_by(histories.c.number)).scalars())


def test_another_history_is_noticed_once_and_fences_every_earlier_turn(
    store: Store, engine: sa.Engine, create: Create, restart: Callable[[], Store]
) -> None:
    with restart().begin() as tx:
        assert tx.measures.history().number == 1
    ended = create("a")
    with store.begin() as tx:
        only = tx.turns.claim(ended, now=NOW, worker="w")
        assert only is not None
        tx.turns.end_action(only, RunState.SUCCESS, now=NOW)
    action = create("a")
    with store.begin() as tx:
        late = tx.turns.claim(action, now=NOW, worker="w")
    assert late is not None
    assert late.lost.noticed is None

    # As in a dump that was restored into tables that were made anew.
    with engine.begin() as connection:
        connection.execute(histories.update().values(relation=0))
    for _ in range(2):
        with restart().begin() as tx:
            history = tx.measures.history()
    assert (history.number, history.difference, history.reconciling) == (
        2,
        "its tables were created again or emptied, as for a dump",
        1,
    )
    assert numbers(engine) == [1, 2]

    with store.begin() as tx:
        claim = tx.turns.claim(action, now=NOW, worker="w")
        entries = {one: tx.journal.entries(one) for one in (action, ended)}
    assert claim is not None
    assert claim.epoch > late.epoch + 1  # no turn of the lost end can have had it
    assert claim.lost.noticed is not None
    assert NOW - timedelta(minutes=5) < claim.lost.noticed <= NOW
    assert claim.lost.after < NOW
    assert [getattr(one.fact, "topic", "") for one in entries[action]] == [TOPIC]
    assert entries[action][0].id > 1_000_000  # listeners may have had the ids of the lost entries
    assert TOPIC not in [getattr(one.fact, "topic", "") for one in entries[ended]]
    with pytest.raises(Fenced), store.begin() as tx:
        tx.turns.sleep(late, until=NOW)
    with store.begin() as tx:
        again = tx.turns.claim(action, now=NOW + timedelta(minutes=5), worker="w")
    assert again is not None
    assert again.lost == claim.lost  # a later claim changes nothing


def test_another_history_fences_what_its_items_were_doing(
    store: Store, engine: sa.Engine, create: Create, restart: Callable[[], Store]
) -> None:
    with restart().begin() as tx:
        assert tx.measures.history().number == 1
    with store.begin() as tx:
        turn = tx.turns.claim(create("a"), now=NOW, worker="w")
        assert turn is not None
        turn = tx.turns.start_step(turn, {"v": 1}, now=NOW)
        tx.items.add(turn, [NewItem(ItemId("n1"), {})], now=NOW)
    with store.begin() as tx:
        late = tx.items.claim(turn.action, {StepId("a"): 1}, holder="1", now=NOW, worker="w")
    assert late is not None
    with engine.begin() as connection:
        connection.execute(histories.update().values(relation=0))
    with restart().begin() as tx:
        assert tx.measures.history().number == 2
    with pytest.raises(Fenced), store.begin() as tx:
        tx.items.sleep(late, until=NOW)


def test_a_second_loss_keeps_the_earlier_moment(
    store: Store, engine: sa.Engine, create: Create, restart: Callable[[], Store]
) -> None:
    action = create("a")
    with restart().begin():
        pass
    moments = []
    for system in (1, 2):
        with engine.begin() as connection:
            connection.execute(histories.update().values(system=system))
        with restart().begin() as tx:
            claim = tx.turns.claim(action, now=NOW + timedelta(hours=system), worker="w")
        assert claim is not None
        moments.append(claim.lost)

    assert moments[0].after == moments[1].after
    assert moments[0].noticed is not None
    assert moments[1].noticed is not None
    assert moments[1].noticed - moments[0].noticed > timedelta(minutes=50)


def test_tables_made_anew_under_a_connection_are_seen_by_the_next_claim(
    store: Store, engine: sa.Engine, create: Create
) -> None:
    action = create("a")
    with engine.connect() as connection:
        connected = connection.info[CONNECTION]
        connection.info[CONNECTION] = connected._replace(table=connected.table - 1)
        connection.rollback()
        lent = Store(engine, ProcrastinateWakeup())._transaction(connection)
        with pytest.raises(StoreUnavailable, match="created again"):
            lent.turns.claim(action, now=NOW, worker="w")

    with store.begin() as tx:  # on another connection
        assert tx.turns.claim(action, now=NOW, worker="w") is not None


def test_a_dump_restored_into_tables_that_were_emptied_is_noticed(
    store: Store, engine: sa.Engine, create: Create, restart: Callable[[], Store]
) -> None:
    """As by ``pg_restore --data-only``: every table is the one that it was, and empty before."""
    action = create("a")
    with restart().begin():
        pass
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TEMP TABLE dump ON COMMIT DROP AS SELECT * FROM actions"))
        connection.execute(sa.text("CREATE TEMP TABLE steps_dump ON COMMIT DROP AS SELECT * FROM steps"))
        connection.execute(sa.text("TRUNCATE actions CASCADE"))
        connection.execute(sa.text("INSERT INTO actions SELECT * FROM dump"))
        connection.execute(sa.text("INSERT INTO steps SELECT * FROM steps_dump"))
    with restart().begin() as tx:
        assert tx.measures.history().number == 2
        claim = tx.turns.claim(action, now=NOW, worker="w")
    assert claim is not None
    assert claim.lost.noticed is not None


@pytest.mark.parametrize("who", ["this process", "a turn"])
def test_a_server_that_has_written_less_than_was_seen_has_gone_back(
    store: Store, engine: sa.Engine, create: Create, restart: Callable[[], Store], who: str
) -> None:
    """Its identity is the same; what it shows is an earlier place in the log than was seen before its start."""
    action = create("a")
    with restart().begin() as tx:
        claim = tx.turns.claim(action, now=NOW, worker="w")
    assert claim is not None
    assert claim.lost.noticed is None
    assert claim.lost.server
    with engine.begin() as connection:
        system, timeline = connection.execute(sa.select(histories.c.system, histories.c.timeline)).one()
        noted = connection.execute(sa.select(tables.actions.c.place)).scalar_one()
        assert 0 < noted <= HIGHEST[system].place
        connection.execute(histories.update().values(noticed_at=NOW - timedelta(days=400)))
        if who == "a turn":
            connection.execute(tables.actions.update().values(place=noted + 10**12))
    if who != "a turn":
        HIGHEST[system] = Position(timeline, noted + 10**12)

    for _ in range(2):
        with restart().begin() as tx:
            history = tx.measures.history()
            claim = tx.turns.claim(action, now=NOW, worker="w")
    assert (history.number, history.difference) == (
        2,
        "the server has written less than before, as from a copy of its files or from a snapshot",
    )
    assert claim is not None
    assert claim.lost.noticed is not None


def test_a_single_server_loses_nothing(store: Store) -> None:
    with store.begin() as tx:
        assert tx.measures.replication().finding == ""
