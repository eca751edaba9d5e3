"""Records every change of state that a database sees, so that tests can compare it with ``domain.transitions``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import closing, contextmanager
from typing import Any

import psycopg2

from shipyard_api.domain import transitions

_DECLARED: Mapping[str, Mapping[Any, str]] = {
    "actions": transitions.ACTION,
    "steps": transitions.STEP,
    "work_items": transitions.ITEM,
    "deployment_groups": transitions.GROUP,
    "action_nodes": transitions.NODE,
}
_COLUMNS = {
    "actions": "state",
    "steps": "state",
    "work_items": "state",
    "deployment_groups": "status",
    "action_nodes": "status",
}

Change = tuple[str, str | None, str]
"""A table, the state before (None: none yet) and the state after."""


def declared() -> Set[Change]:
    """Return the transitions that the domain declares."""
    return {
        (table, before.value if before else None, after.value)
        for table, held in _DECLARED.items()
        for before, after in held
    }


@contextmanager
def recorded(url: str) -> Iterator[Set[Change]]:
    """Record the changes of state in a migrated database. The set is filled when the block ends.

    The recording has a schema of its own, so that it survives when the tables are emptied between two worlds.
    """
    changes: set[Change] = set()
    _run(url, "CREATE SCHEMA recorded; CREATE TABLE recorded.changes (place text, before text, after text)")
    for table, column in _COLUMNS.items():
        insert = f"INSERT INTO recorded.changes VALUES ('{table}', OLD.{column}, NEW.{column})"
        _run(
            url,
            f"CREATE FUNCTION recorded.{table}() RETURNS trigger LANGUAGE plpgsql"
            f" AS $$ BEGIN {insert}; RETURN NULL; END $$;"
            f"CREATE TRIGGER recorded AFTER UPDATE OF {column} ON {table} FOR EACH ROW"
            f" WHEN (OLD.{column} IS DISTINCT FROM NEW.{column}) EXECUTE FUNCTION recorded.{table}()",
        )
    yield changes
    changes.update(_run(url, "SELECT DISTINCT place, before, after FROM recorded.changes"))
    _run(url, "DROP SCHEMA recorded CASCADE")


def _run(url: str, statement: str) -> list[Any]:
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
