"""Transactions: one connection for all tables, committed or rolled back as a whole."""

import math
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg2
import sqlalchemy as sa
from msgspec import Struct
from psycopg2.extensions import connection as Connection  # noqa: N812  # the driver's name for a class

from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage import histories, schema
from shipyard_api.storage.actions import SERVER, Actions
from shipyard_api.storage.addresses import SERVER_KEEPALIVES, check_address, open_connection
from shipyard_api.storage.connections import outages
from shipyard_api.storage.deploy_templates import DeployTemplates
from shipyard_api.storage.holds import Holds
from shipyard_api.storage.items import Items
from shipyard_api.storage.journal import Journal
from shipyard_api.storage.measures import Measures
from shipyard_api.storage.nodes import Nodes
from shipyard_api.storage.observations import Observations
from shipyard_api.storage.plans import Plans
from shipyard_api.storage.retention import Retention
from shipyard_api.storage.software import Software
from shipyard_api.storage.specifications import Specifications
from shipyard_api.storage.stragglers import Stragglers
from shipyard_api.storage.task_results import TaskResults
from shipyard_api.storage.tokens import Tickets, Tokens
from shipyard_api.storage.turns import Turns
from shipyard_api.storage.webhooks import Webhooks
from shipyard_api.storage.write_limits import WriteLimits

T = TypeVar("T")
Opener = Callable[[str], Connection]

_SOUND_SECONDS = 1.0
_USED = "used"
"""Key in a connection's info for the time of its last use."""
_LOOKED = "looked"
"""Key in a reader's info, set once a transaction has read the database's history."""


class Transaction(Struct, frozen=True):
    """Everything that one transaction can touch."""

    turns: Turns
    items: Items
    actions: Actions
    journal: Journal
    stragglers: Stragglers
    tokens: Tokens
    tickets: Tickets
    webhooks: Webhooks
    nodes: Nodes
    holds: Holds
    observations: Observations
    write_limits: WriteLimits
    deploy_templates: DeployTemplates
    software: Software
    task_results: TaskResults
    measures: Measures
    retention: Retention
    plans: Plans
    specifications: Specifications


class Store:
    """The database, a Postgres. Raises StoreUnavailable when it cannot be reached.

    Connections are made when first needed, so a fork before that is harmless.
    """

    def __init__(self, engine: sa.Engine, wakeup: Wakeup, readers: sa.Engine | None = None) -> None:
        """``readers``: engine of ``connect_readers`` for reads; without it, reads share the pool of writes."""
        self._engine = engine
        self._wakeup = wakeup
        self._readers = readers or engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        """Open a transaction: committed when the block ends, rolled back when it raises."""
        with outages(), self._engine.connect() as connection:
            if histories.CONNECTION not in connection.info:
                with connection.begin():
                    connected = histories.notice(connection)
                connection.info[histories.CONNECTION] = connected
            with connection.begin():
                transaction = self._transaction(connection)
                yield transaction
                transaction.turns.flush()

    def read(self, query: Callable[[Transaction], T]) -> T:
        """Return the result of a read-only query. On a dead connection the query runs again, on another.

        Faster than a transaction: each statement of the query sees the rows committed by then.
        """
        try:
            return self._run(query)
        except StoreUnavailable as error:
            if not getattr(error.__cause__, "connection_invalidated", False):
                raise
            return self._run(query)

    def check_schema(self) -> None:
        """Raise UnsuitableDatabase if this release does not work on the schema of the database."""
        with outages(), self._readers.connect() as connection:
            try:
                row = connection.exec_driver_sql(schema.CURRENT).one_or_none()
            except sa.exc.ProgrammingError:
                row = None
        schema.check(*(row or (None, None)))

    def dispose(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        self._readers.dispose()

    def _run(self, query: Callable[[Transaction], T]) -> T:
        with outages(), self._readers.connect() as connection:
            if _LOOKED not in connection.info:
                with self.begin():
                    pass  # an API that only reads notices another history before a worker has started again
                connection.info[_LOOKED] = True
            return query(self._transaction(connection))

    def _transaction(self, connection: sa.Connection) -> Transaction:
        items = Items(connection, self._wakeup)
        turns = Turns(connection, self._wakeup, items)
        return Transaction(
            turns,
            items,
            Actions(connection, turns),
            Journal(connection),
            Stragglers(connection),
            Tokens(connection),
            Tickets(connection),
            Webhooks(connection),
            Nodes(connection),
            Holds(connection),
            Observations(connection),
            WriteLimits(connection),
            DeployTemplates(connection),
            Software(connection),
            TaskResults(connection),
            Measures(connection, self._wakeup),
            Retention(connection),
            Plans(connection),
            Specifications(connection),
        )


def connect_readers(url: str, *, pool_size: int = 5, open_with: Opener = open_connection) -> sa.Engine:
    """Return an engine for reads: autocommit, and one round trip per statement.

    Connections are not tested before use; ``Store.read`` retries on a dead one.
    """
    readers = connect(url, pool_size=pool_size, isolation_level="AUTOCOMMIT", tested=False, open_with=open_with)
    sa.event.listen(readers, "connect", _learn_server)
    return readers


def _learn_server(connection: Any, record: Any) -> None:
    """Record the server's start time: a restarted server may have been restored to an earlier state."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()::text")
        record.info[SERVER] = cursor.fetchone()[0]


def connect(
    url: str, *, pool_size: int = 5, tested: bool = True, open_with: Opener = open_connection, **options: Any
) -> sa.Engine:
    """Return an engine for a Postgres URL as libpq documents it (``postgresql://…``).

    ``tested``: a connection that the server closed, or that was idle for a second and is silent, is replaced before it
    is used again. ``open_with``: makes a connection. Does not connect yet. Raises StoreUnavailable for an invalid URL.
    """
    check_address(url)
    engine = sa.create_engine(
        "postgresql+psycopg2://",
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=10,
        # The connection used last needs no test, and an idle program tests one instead of all.
        pool_use_lifo=True,
        **options,
    )

    sa.event.listen(engine, "do_connect", lambda *_: open_with(url))
    sa.event.listen(engine, "connect", _keep_alive)
    if tested:
        sa.event.listen(engine, "checkin", _note_use)
        sa.event.listen(engine, "checkout", partial(_test_idle, engine.dialect))
    return engine


def _note_use(_connection: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()


def _test_idle(dialect: sa.Dialect, connection: Any, record: Any, _: Any) -> None:
    """Let the pool replace all connections if this one is dead.

    SQLAlchemy's own test asks the server before every transaction, which costs a busy worker a round trip for each. A
    server that hung up is noticed without asking: then there is something to read.
    """
    try:
        idle = time.monotonic() - record.info.get(_USED, math.inf)
        if idle > _SOUND_SECONDS or _has_input(connection):
            dialect.do_ping(connection)
    except psycopg2.Error as error:
        raise sa.exc.InvalidatePoolError from error


def _has_input(connection: Any) -> bool:
    poll = select.poll()  # select() knows no descriptors above 1,023
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _keep_alive(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SERVER_KEEPALIVES)
    connection.commit()
