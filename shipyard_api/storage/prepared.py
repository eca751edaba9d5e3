"""Statements that each connection parses and plans once. For the most frequent reads, that costs more than the rest."""

from typing import Any

import sqlalchemy as sa
from msgspec import Struct

_PREPARED = "prepared"
"""Key in a connection's info for the names of the statements that it has prepared."""


class Prepared(Struct, frozen=True):
    """A statement with parameters ``$1``, ``$2`` of these types. Values are what psycopg2 makes of them."""

    name: str
    types: tuple[str, ...]
    sql: str

    def one(self, connection: sa.Connection, *values: Any) -> "sa.Row[Any] | None":
        """Return the only row that the statement finds, or None."""
        known: set[str] = connection.info.setdefault(_PREPARED, set())
        if self.name not in known:
            connection.exec_driver_sql(f"PREPARE {self.name}({', '.join(self.types)}) AS {self.sql}")
            known.add(self.name)
        places = ", ".join(["%s"] * len(values))
        return connection.exec_driver_sql(f"EXECUTE {self.name}({places})", values).one_or_none()
