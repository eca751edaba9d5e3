"""Migrations only add: programs of the release before run on the schema of this one (ADR 0034)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.storage import migrations, schema
from shipyard_api.storage.unit_of_work import connect
from tests.integration.storage.test_migrations import DIRECTORY, scripts

_COLUMNS = """
SELECT table_name, column_name, format('%s(%s)', data_type, character_maximum_length), is_nullable = 'YES',
       column_default IS NOT NULL OR is_identity = 'YES'
FROM information_schema.columns WHERE table_schema = 'public'
"""
# What may reject a row, and what ON CONFLICT names.
_RULES = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND conrelid <> 0
UNION ALL
SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE%'
"""
_FUNCTIONS = """
SELECT format('function %s(%s)', proname, pg_get_function_identity_arguments(oid)) FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
UNION ALL
SELECT format('trigger %s of %s', tgname, tgrelid::regclass) FROM pg_trigger WHERE NOT tgisinternal
"""


@dataclass(frozen=True)
class Column:
    """What a program that does not know of other columns relies on."""

    kind: str
    nullable: bool
    filled: bool


@dataclass(frozen=True)
class Shape:
    """A schema, as far as programs depend on it."""

    columns: Mapping[tuple[str, str], Column]
    rules: Mapping[tuple[str, str], str]
    functions: frozenset[str]

    @classmethod
    def of(cls, connection: sa.Connection) -> Shape:
        """Read the shape of the connection's database."""

        def rows(query: str) -> list[Any]:
            return list(connection.execute(sa.text(query)))

        return cls(
            {(table, name): Column(*more) for table, name, *more in rows(_COLUMNS)},
            {(table, name): text for table, name, text in rows(_RULES)},
            frozenset(name for (name,) in rows(_FUNCTIONS)),
        )

    def taken(self, later: Shape) -> list[str]:
        """Return what a program that was written for this shape could stumble over in a later one."""
        tables = {table for table, _ in self.columns}
        found = [f"{name} is gone" for name in self.functions - later.functions]
        for (table, name), old in self.columns.items():
            new = later.columns.get((table, name))
            if new is None:
                found.append(f"{table}.{name} is gone")
            elif old.kind != new.kind:
                found.append(f"{table}.{name} is {new.kind}, it was {old.kind}")
            elif (old.nullable or old.filled) and not (new.nullable or new.filled):
                found.append(f"{table}.{name} must be given")
            elif old.nullable and not new.nullable:
                found.append(f"{table}.{name} may not be NULL any more")
            elif not old.nullable and new.nullable:
                found.append(f"{table}.{name} may be NULL")
        for (table, name), column in later.columns.items():
            if table in tables and (table, name) not in self.columns and not (column.nullable or column.filled):
                found.append(f"{table}.{name} must be given")
        for table, name in {*self.rules, *later.rules}:
            if table in tables and self.rules.get((table, name)) != later.rules.get((table, name)):
                found.append(f"{table}: {name} is another rule")
        return sorted(found)


@pytest.fixture
def blank(empty_database_url: str) -> Iterator[sa.Engine]:
    engine = connect(empty_database_url, pool_size=1)
    yield engine
    engine.dispose()


def test_a_migration_takes_nothing_away_unless_it_says_from_which_programs(blank: sa.Engine) -> None:
    later = [one for one in scripts().walk_revisions() if one.revision > schema.ROLLING_FROM]
    migrations.upgrade(blank, DIRECTORY, schema.ROLLING_FROM)
    for script in reversed(later):
        with blank.connect() as connection:
            before = Shape.of(connection)
        migrations.upgrade(blank, DIRECTORY, script.revision)
        with blank.connect() as connection:
            taken = before.taken(Shape.of(connection))
        usable_from = getattr(script.module, "usable_from", None)
        assert bool(taken) == (usable_from is not None), (script.revision, taken)
        assert usable_from is None or schema.ROLLING_FROM <= usable_from < script.revision


CHANGES = {
    "ALTER TABLE actions ADD further text": [],
    "ALTER TABLE actions ADD further integer NOT NULL DEFAULT 0": [],
    "CREATE TABLE further (id integer PRIMARY KEY)": [],
    "CREATE INDEX further ON actions (name)": [],
    "DROP INDEX actions_created_at_index": [],
    "ALTER TABLE actions ADD further integer NOT NULL": ["actions.further must be given"],
    "ALTER TABLE actions DROP caller": [
        "actions.caller is gone",
        "actions: actions_one_for_each_key is another rule",
    ],
    "ALTER TABLE journal RENAME TO further": None,
    "ALTER TABLE actions ALTER user_name TYPE varchar(9)": ["actions.user_name is character varying(9), it was text()"],
    "ALTER TABLE actions ALTER caller SET NOT NULL": ["actions.caller must be given"],
    "ALTER TABLE actions ALTER user_name DROP NOT NULL": ["actions.user_name may be NULL"],
    "ALTER TABLE actions ALTER epoch DROP DEFAULT": ["actions.epoch must be given"],
    "ALTER TABLE actions ADD CONSTRAINT further CHECK (epoch > 1)": ["actions: further is another rule"],
    "CREATE UNIQUE INDEX further ON actions (name)": ["actions: further is another rule"],
    "DROP INDEX actions_one_for_each_key": ["actions: actions_one_for_each_key is another rule"],
    "DROP FUNCTION site_time CASCADE": None,
}


def test_what_takes_something_away_is_found(database_url: str) -> None:
    engine = connect(database_url, pool_size=1)
    found: dict[str, list[str]] = {}
    with engine.connect() as connection:
        before = Shape.of(connection)
        connection.rollback()
        for change in CHANGES:
            connection.exec_driver_sql(change)
            found[change] = before.taken(Shape.of(connection))
            connection.rollback()
    engine.dispose()

    for change, expected in CHANGES.items():
        assert found[change] if expected is None else found[change] == expected, (change, found[change])


def test_an_upgrade_says_which_programs_the_schema_serves(database_url: str) -> None:
    engine = connect(database_url, pool_size=1)
    with engine.connect() as connection:
        applied, usable_from = connection.exec_driver_sql(schema.CURRENT).one()
    engine.dispose()

    assert (applied, usable_from) == (schema.NEWEST, migrations.usable_from(scripts()))
    assert schema.ROLLING_FROM <= usable_from <= schema.OLDEST
