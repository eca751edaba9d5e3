"""Writes without a result, sent together: a round trip costs as much as most of these statements."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import Insert, insert

Values = Mapping[str, Any]
Statement = sa.UpdateBase | sa.TextClause


class BatchedWrites:
    """Writes of one transaction, in order, until they are sent.

    ``connection``: for a read; what it depends on must be sent before.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._statements: list[tuple[str, Values]] = []

    def add(self, statement: Statement, values: Values) -> None:
        """Add a statement. It must be the same object every time, because its SQL is kept."""
        compiled = _compiled(statement, tuple(values), self.connection.dialect)
        self._statements.append((compiled.sql, compiled.of_driver(values)))

    def send(self) -> None:
        """Send what was added; raises the error of the first statement that fails."""
        if not self._statements:
            return
        statements, self._statements = self._statements, []
        with closing(self.connection.connection.cursor()) as cursor:
            sql = b";".join(cursor.mogrify(sql, values) for sql, values in statements).decode()
        try:
            # The values are in the text, so a percent sign there is no placeholder.
            self.connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
        except sa.exc.DBAPIError as error:
            error.statement = "; ".join(sql for sql, _ in statements)  # for the log, which needs no values
            raise


def insert_rows(table: sa.Table, *columns: str) -> Insert:
    """Return an INSERT of any number of rows: the parameter ``rows``, a JSON list. VALUES would take longer."""
    rows = (
        sa.func.json_to_recordset(sa.bindparam("rows", type_=sa.JSON))
        .table_valued(*(sa.column(name, table.c[name].type) for name in columns), joins_implicitly=True)
        .render_derived(with_types=True)
    )
    return insert(table).from_select(columns, sa.select(rows))


class _Compiled(Struct, frozen=True):
    """A statement as SQL, with the values that are part of it, and what makes the driver's values of ours."""

    sql: str
    defaults: Values
    processors: Mapping[str, Callable[[Any], Any]]

    def of_driver(self, values: Values) -> Values:
        parameters = {**self.defaults, **values}
        return parameters | {name: process(parameters[name]) for name, process in self.processors.items()}


@lru_cache(maxsize=128)
def _compiled(statement: Statement, names: tuple[str, ...], dialect: sa.Dialect) -> _Compiled:
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    processors = {
        name: parameter.type.dialect_impl(dialect).bind_processor(dialect) for name, parameter in compiled.binds.items()
    }
    return _Compiled(str(compiled), compiled.params, {name: process for name, process in processors.items() if process})
