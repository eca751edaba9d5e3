"""Transactions: one connection, all the nouns, kept or undone as a whole."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

import sqlalchemy as sa

from shipyard_api.ports.store import StoreUnavailable
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage.actions import SqlActions
from shipyard_api.storage.nodes import SqlNodes
from shipyard_api.storage.outages import outages
from shipyard_api.storage.stragglers import SqlStragglers
from shipyard_api.storage.tokens import SqlTokens
from shipyard_api.storage.turns import SqlTurns

# A host that loses its power says no farewell, and the database would keep its sessions, with the locks that they hold,
# for hours. Asking after 20 s of silence, and giving up after three unanswered questions, 10 s each, it lets go within
# a minute. The second set is the same from our side, for a database host that vanishes.
_SERVER_KEEPALIVES = "-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
_CLIENT_KEEPALIVES: Mapping[str, int] = MappingProxyType(
    {"keepalives": 1, "keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3}
)


@dataclass(frozen=True, slots=True)
class SqlTransaction:
    """One open transaction."""

    turns: SqlTurns
    actions: SqlActions
    stragglers: SqlStragglers
    tokens: SqlTokens
    nodes: SqlNodes


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
            yield SqlTransaction(
                turns,
                SqlActions(connection, turns),
                SqlStragglers(connection),
                SqlTokens(connection),
                SqlNodes(connection),
            )

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
        connect_args={"connect_timeout": 5, "application_name": "shipyard", **_keepalives(address)},
    )


def _keepalives(address: sa.URL) -> Mapping[str, str | int]:
    """Return what is added to the parameters of a URL; what an operator has set there or by PGOPTIONS wins."""
    given = address.query.get("options") or os.environ.get("PGOPTIONS", "")
    options = given if isinstance(given, str) else " ".join(given)
    client = {name: value for name, value in _CLIENT_KEEPALIVES.items() if name not in address.query}
    # Of an option that is given twice, the server takes the last.
    return {**client, "options": f"{_SERVER_KEEPALIVES} {options}".strip()}
