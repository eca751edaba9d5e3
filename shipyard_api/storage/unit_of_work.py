"""Transactions: one connection, all the nouns, kept or undone as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from shipyard_api.ports.store import StoreUnavailable
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage.actions import SqlActions
from shipyard_api.storage.outages import outages
from shipyard_api.storage.revisions import SqlRevisions
from shipyard_api.storage.tokens import SqlTokens
from shipyard_api.storage.turns import SqlTurns


@dataclass(frozen=True, slots=True)
class SqlTransaction:
    """One open transaction."""

    turns: SqlTurns
    actions: SqlActions
    revisions: SqlRevisions
    tokens: SqlTokens


class SqlStore:
    """The store on a Postgres. Connections are made when first needed, so a fork before that is harmless."""

    def __init__(self, engine: sa.Engine, wakeup: Wakeup) -> None:
        self._engine = engine
        self._wakeup = wakeup

    @contextmanager
    def begin(self) -> Iterator[SqlTransaction]:
        """Open a transaction; raises StoreUnavailable when the database is out of reach."""
        with outages(), self._engine.begin() as connection:
            turns = SqlTurns(connection, self._wakeup)
            yield SqlTransaction(turns, SqlActions(connection, turns), SqlRevisions(connection), SqlTokens(connection))

    def dispose(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def connect(url: str, *, pool_size: int = 5) -> sa.Engine:
    """Return an engine for a Postgres URL in the form that libpq documents (``postgresql://…``).

    Connects to nothing yet. Raises StoreUnavailable for what is no URL, without showing it: it may hold a password.
    """
    try:
        address = sa.make_url(url).set(drivername="postgresql+psycopg2")
    except (sa.exc.ArgumentError, ValueError):
        raise StoreUnavailable("DATABASE_URL is not of the form postgresql://USER:PASSWORD@HOST:PORT/NAME") from None
    return sa.create_engine(
        address,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=10,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "application_name": "shipyard"},
    )
