"""Transactions: one connection, all the nouns, kept or undone as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shipyard_api.ports.store import StoreUnavailable
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage.actions import SqlActions
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
        try:
            with self._engine.begin() as connection:
                turns = SqlTurns(connection, self._wakeup)
                yield SqlTransaction(
                    turns, SqlActions(connection, turns), SqlRevisions(connection), SqlTokens(connection)
                )
        except (DisconnectionError, PoolTimeout) as error:
            raise StoreUnavailable(str(error)) from error
        except DBAPIError as error:
            if error.connection_invalidated or _is_outage(error):
                raise StoreUnavailable(_first_line(error)) from error
            raise

    def dispose(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def connect(url: str, *, pool_size: int = 5) -> sa.Engine:
    """Return an engine for a Postgres URL in the form that libpq documents (``postgresql://…``)."""
    address = sa.make_url(url).set(drivername="postgresql+psycopg2")
    return sa.create_engine(
        address,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=10,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "application_name": "shipyard"},
    )


# SQLSTATE classes in which the server, not the statement, is the reason: connection trouble, out of resources,
# shut down or starting up.
_OUTAGES = ("08", "53", "57P")


def _is_outage(error: DBAPIError) -> bool:
    state = getattr(error.orig, "pgcode", None)
    if state is None:
        return isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
    return str(state).startswith(_OUTAGES)


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
