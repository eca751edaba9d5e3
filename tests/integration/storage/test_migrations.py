"""Migrations: one way, one end, and what they lead to is the schema of the code."""

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from shipyard_api.storage import migrations
from shipyard_api.storage.tables import metadata
from shipyard_api.storage.unit_of_work import connect
from tests.conftest import ROOT
from tests.forked import ToItsEnd

DIRECTORY = ROOT / "migrations"


def scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(Config(DIRECTORY / "alembic.ini"))


@pytest.fixture
def blank(empty_database_url: str) -> Iterator[sa.Engine]:
    engine = connect(empty_database_url, pool_size=2)
    yield engine
    engine.dispose()


def shape(engine: sa.Engine) -> list[Any]:
    """Every table, column, constraint, index, function and trigger of the database, by name and text."""
    queries = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default, character_maximum_length "
        "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        "SELECT proname, pg_get_function_identity_arguments(oid) FROM pg_proc "
        "WHERE pronamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
    )
    with engine.connect() as connection:
        return [[tuple(row) for row in connection.execute(sa.text(query))] for query in queries]


def current(engine: sa.Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def test_there_is_one_head_and_one_way_to_it() -> None:
    assert len(scripts().get_heads()) == 1
    assert len(scripts().get_bases()) == 1
    found = list(scripts().walk_revisions())
    assert [one.revision for one in found] == sorted((one.revision for one in found), reverse=True)
    assert migrations.head(DIRECTORY) == found[0].revision


def test_every_migration_is_numbered_in_its_file_name_says_what_it_does_and_cannot_be_undone() -> None:
    for one in scripts().walk_revisions():
        assert Path(one.path).name.startswith(f"{one.revision}_")
        assert one.doc
        with pytest.raises(NotImplementedError, match="restore a backup"):
            one.module.downgrade()


def test_from_empty_they_lead_to_the_tables_of_the_code_and_no_further_and_not_back(blank: sa.Engine) -> None:
    assert current(blank) is None
    migrations.upgrade(blank, DIRECTORY)

    def ours(name: str | None, kind: str, _parents: object) -> bool:
        return not (kind == "table" and (name or "").startswith("procrastinate_"))

    with blank.connect() as connection:
        options = {"include_name": ours, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []

    before = shape(blank)
    migrations.upgrade(blank, DIRECTORY)
    assert shape(blank) == before
    config = Config(DIRECTORY / "alembic.ini")
    with blank.connect() as connection:
        config.attributes["connection"] = connection
        with pytest.raises(NotImplementedError, match="forward only"):
            command.downgrade(config, "-1")
    assert current(blank) == migrations.head(DIRECTORY)
    assert {"procrastinate_jobs", "procrastinate_workers"} <= set(sa.inspect(blank).get_table_names())


def test_what_a_comparison_cannot_see_is_equal_too(blank: sa.Engine, database_url: str) -> None:
    """Checks, conditions of indexes and names: the tables of the code, made directly, against the migrated ones."""
    metadata.create_all(blank)
    migrated = connect(database_url, pool_size=1)
    made, found = shape(blank), shape(migrated)
    migrated.dispose()

    for kind in range(3):
        queue = [one for one in found[kind] if "procrastinate" in str(one) or "alembic_version" in str(one)]
        assert made[kind] == [one for one in found[kind] if one not in queue]


def test_two_at_the_same_time_both_succeed(blank: sa.Engine, empty_database_url: str) -> None:
    """As when two hosts are brought up to date at once."""
    environ = {**os.environ, "DATABASE_URL": empty_database_url}
    upgrades = [ToItsEnd("shipyard_api.programs.admin", ["db", "upgrade"], environ) for _ in range(2)]

    assert [upgrade.end() for upgrade in upgrades] == [(0, f"database is at {migrations.head(DIRECTORY)}\n")] * 2
    assert current(blank) == migrations.head(DIRECTORY)
    with blank.connect() as connection:
        locks = "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database"
        here = "WHERE locktype = 'advisory' AND datname = current_database()"
        held = connection.execute(sa.text(f"{locks} {here}")).scalar_one()
    assert held == 0


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    blank: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as with a queue of another version installed; the lock is given back, and the next try succeeds."""
    from procrastinate.schema import SchemaManager

    with monkeypatch.context() as patch:
        patch.setattr(SchemaManager, "get_schema", staticmethod(lambda: "SELECT 1"))
        with pytest.raises(RuntimeError, match="procrastinate brings a schema that this release does not know"):
            migrations.upgrade(blank, DIRECTORY)
    assert sa.inspect(blank).get_table_names() == []

    migrations.upgrade(blank, DIRECTORY)

    assert current(blank) == migrations.head(DIRECTORY)


def test_a_busy_host_may_pause_within_the_transaction(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer than a session of the service may be idle in one."""
    from procrastinate.schema import SchemaManager

    engine = connect(f"{empty_database_url}?options=-c%20idle_in_transaction_session_timeout%3D200")
    read = SchemaManager.get_schema
    monkeypatch.setattr(SchemaManager, "get_schema", staticmethod(lambda: time.sleep(0.5) or read()))
    migrations.upgrade(engine, DIRECTORY)

    assert current(engine) == migrations.head(DIRECTORY)
    engine.dispose()


def upgrade_to(engine: sa.Engine, revision: str) -> None:
    config = Config(DIRECTORY / "alembic.ini")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_documents_get_the_beginning_of_the_run_in_which_they_stood_unchanged(blank: sa.Engine) -> None:
    """Each line: a document, and its content in revisions 1, 2, 3, 5 and 6 (there is no 4); a dot where it is gone."""
    numbers = (1, 2, 3, 5, 6)
    stories = {
        "steady": ("aaaaa", (1, 1, 1, 1, 1)),
        "changed": ("aabbb", (1, 1, 3, 3, 3)),
        "back again": ("abaab", (1, 2, 3, 3, 6)),
        "gone and back": ("a.a.a", (1, 3, 6)),
        "late": ("...aa", (5, 5)),
        "gone": ("aa...", (1, 1)),
    }
    upgrade_to(blank, "0002")
    with blank.begin() as connection:
        for number in numbers:
            connection.execute(sa.text("INSERT INTO revisions (id) VALUES (:number)"), {"number": number})
        for content in "ab":
            connection.execute(sa.text("INSERT INTO document_contents VALUES (:hash, '{}', '1')"), {"hash": content})
        connection.execute(
            sa.text(
                "INSERT INTO revision_documents VALUES (:revision, 'a/B/v1', 'site', :name, :collection, 0, :hash)"
            ),
            [
                # Which collection holds it makes no difference.
                {"revision": number, "name": name, "collection": f"c{number}", "hash": content}
                for name, (contents, _) in stories.items()
                for number, content in zip(numbers, contents, strict=True)
                if content != "."
            ],
        )

    migrations.upgrade(blank, DIRECTORY)

    with blank.connect() as connection:
        found = connection.execute(sa.text("SELECT name, since FROM revision_documents ORDER BY name, revision")).all()
    assert {name: tuple(row.since for row in found if row.name == name) for name in stories} == {
        name: since for name, (_, since) in stories.items()
    }


def test_the_history_of_nodes_of_before_gets_rows(blank: sa.Engine) -> None:
    changed = {"group": "a", "phase": "deploy", "status": "failure", "reason": "timeout", "nodes": ["n1", "n2"]}
    late = {"job": "j", "state": "ended", "message": "1 of 2"}
    lines: list[tuple[str, dict[str, Any]]] = [
        ("members_known", {"groups": 1, "nodes": 3}),
        ("nodes_kept", {"nodes": ["n3"], "action": "before"}),
        ("nodes_changed", {**changed, "details": {"n2": "no power"}}),
        ("phase_started", {**changed, "job": "j", "batch": 1}),
        ("late", {**late, "operation": "deploy_nodes", "succeeded": ["n1"], "failed": ["n2"]}),
        ("late", {**late, "operation": "verify_site", "succeeded": [], "failed": []}),
    ]
    upgrade_to(blank, "0008")
    with blank.begin() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO actions (id, name, parameters, user_name, context_marker, exclusive, inputs, state) "
                "VALUES ('one', 'deploy_site', '{}', 'ann', '-', false, '{}', 'queued')"
            )
        )
        connection.execute(
            sa.text(
                "INSERT INTO action_nodes (action_id, name, status, groups, updated_at) "
                "VALUES ('one', 'n1', 'failure', '{a}', '2026-11-22T11:00Z')"
            )
        )
        connection.execute(
            sa.text(
                "INSERT INTO journal (action_id, epoch, kind, at, worker, facts) "
                "VALUES ('one', 1, :kind, '2026-11-22T10:00Z', 'w', CAST(:facts AS json))"
            ),
            [{"kind": kind, "facts": json.dumps(facts)} for kind, facts in lines],
        )

    migrations.upgrade(blank, DIRECTORY)

    with blank.connect() as connection:
        query = "SELECT group_name, phase, status, reason, nodes, details, late FROM node_changes ORDER BY id"
        found = [tuple(row) for row in connection.execute(sa.text(query))]
        known_at = connection.execute(sa.text("SELECT known_at FROM action_nodes")).scalar_one()
    assert found == [
        (None, None, "success", None, ["n3"], ["kept: deployed by before"], False),
        ("a", "deploy", "failure", "timeout", ["n1", "n2"], ["", "no power"], False),
        (None, "deploy", "success", None, ["n1"], ["1 of 2"], True),
        (None, "deploy", "failure", None, ["n2"], ["1 of 2"], True),
    ]
    assert known_at == datetime(2026, 11, 22, 10, tzinfo=UTC)


def test_contents_and_tokens_of_before_are_still_good(blank: sa.Engine) -> None:
    upgrade_to(blank, "0002")
    with blank.begin() as connection:
        connection.execute(sa.text("INSERT INTO document_contents VALUES ('a', '{}', '1')"))
        connection.execute(sa.text("INSERT INTO api_tokens (id, name, role, digest) VALUES ('1', 'x', 'admin', 'x')"))

    migrations.upgrade(blank, DIRECTORY)

    with blank.connect() as connection:
        (content,) = connection.execute(sa.text("SELECT * FROM document_contents")).mappings()
        assert content == {"hash": "a", "metadata": "{}", "data": "1", "sealed": None}
        assert connection.execute(sa.text("SELECT roles FROM api_tokens")).scalars().all() == [["admin"]]


def test_the_role_of_a_token_becomes_the_first_of_several(blank: sa.Engine) -> None:
    roles = ["admin", "peer", "viewer"]
    upgrade_to(blank, "0006")
    insert = sa.text("INSERT INTO api_tokens (id, name, role, digest) VALUES (:role, 'x', :role, CAST(:role AS bytea))")
    with blank.begin() as connection:
        connection.execute(insert, [{"role": role} for role in roles])

    migrations.upgrade(blank, DIRECTORY)

    with blank.connect() as connection:
        rows = connection.execute(sa.text("SELECT roles, last_used_at FROM api_tokens ORDER BY id")).all()
    assert [tuple(row) for row in rows] == [([role], None) for role in roles]


def test_a_key_of_before_belongs_to_the_one_token_of_its_name_and_else_to_nobody(blank: sa.Engine) -> None:
    tokens = {"1": "ann", "2": "bob", "3": "bob"}
    actions = {"a": ("ann", "k"), "b": ("bob", "k"), "c": ("cy", "k"), "d": ("ann", "l"), "e": ("ann", None)}
    upgrade_to(blank, "0007")
    with blank.begin() as connection:
        for token, name in tokens.items():
            connection.execute(
                sa.text("INSERT INTO api_tokens (id, name, roles, digest) VALUES (:id, :name, '{admin}', :digest)"),
                {"id": token, "name": name, "digest": token.encode()},
            )
        for action, (user, key) in actions.items():
            connection.execute(
                sa.text(
                    "INSERT INTO actions (id, name, parameters, user_name, context_marker, exclusive, inputs, state, "
                    "idempotency_key, request_digest) VALUES (:id, 'test_site', '{}', :user, '', false, '{}', "
                    "'queued', :key, 'x')"
                ),
                {"id": action, "user": user, "key": key},
            )

    migrations.upgrade(blank, DIRECTORY)

    with blank.connect() as connection:
        found = connection.execute(sa.text("SELECT id, user_name, idempotency_key, caller FROM actions")).all()
    assert {row.id: (row.user_name, row.idempotency_key) for row in found} == actions
    assert {row.id: row.caller for row in found} == {"a": "1", "b": None, "c": None, "d": "1", "e": None}
