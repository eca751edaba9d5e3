"""Writes that are sent together: in order, with any values, all or none."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.storage.batched_writes import BatchedWrites, insert_rows

AT = datetime(2026, 3, 2, 9, 0, 0, 123456, UTC)
TEXTS = ["", "50 % of %s, %(name)s, %%", 'it\'s \\ "quoted"; DROP TABLE gathered', "é𝄞\n", "NULL", "{a,b}"]

rows = sa.Table(
    "gathered",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("text", sa.Text, unique=True),
    sa.Column("names", ARRAY(sa.Text)),
    sa.Column("body", sa.JSON(none_as_null=True)),
    sa.Column("at", sa.DateTime(timezone=True)),
    sa.Column("note", sa.Text, server_default="nothing"),
)
INSERT = rows.insert().inline()
SEVERAL = insert_rows(rows, "id", "text", "names", "body", "at")
CHANGE = rows.update().where(rows.c.id == sa.bindparam("of_row"))


@pytest.fixture
def connection(shared_engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection with the table, which is gone with the transaction."""
    with shared_engine.connect() as connection:
        rows.create(connection)
        yield connection
        connection.rollback()


def stored(connection: sa.Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(sa.select(rows).order_by(rows.c.id))]


@pytest.mark.parametrize("text", TEXTS)
def test_values_arrive_as_they_are(connection: sa.Connection, text: str) -> None:
    body = {"a": [1, None, text], text: True}
    row = {"text": text, "names": [text, "b"], "body": body, "at": AT}
    writes = BatchedWrites(connection)
    writes.add(INSERT, {"id": 1, **row})
    writes.add(INSERT, {"id": 2, "names": [], "body": None})
    writes.add(SEVERAL, {"rows": [{"id": 3, **row, "text": f"{text} again", "at": AT.isoformat()}, {"id": 4}]})
    writes.send()
    assert stored(connection) == [
        (1, text, [text, "b"], body, AT, "nothing"),
        (2, None, [], None, None, "nothing"),
        (3, f"{text} again", [text, "b"], body, AT, "nothing"),
        (4, None, None, None, None, "nothing"),
    ]


def test_nothing_is_written_before_it_is_sent_and_nothing_twice(connection: sa.Connection) -> None:
    writes = BatchedWrites(connection)
    writes.send()
    writes.add(INSERT, {"id": 1})
    assert stored(connection) == []
    writes.send()
    writes.send()
    assert len(stored(connection)) == 1


def test_the_order_is_kept_and_an_update_sets_the_given_columns(connection: sa.Connection) -> None:
    writes = BatchedWrites(connection)
    writes.add(INSERT, {"id": 1, "text": "first", "note": "yes"})
    writes.add(CHANGE, {"of_row": 1, "text": "second"})
    writes.add(CHANGE, {"of_row": 1, "text": None, "names": ["n"]})
    writes.add(sa.text("UPDATE gathered SET body = :body WHERE id = :row"), {"body": "[]", "row": 1})
    writes.send()
    assert stored(connection) == [(1, None, ["n"], [], None, "yes")]


def test_the_error_of_a_statement_is_that_of_all(connection: sa.Connection) -> None:
    writes = BatchedWrites(connection)
    for number in (1, 2, 3):
        writes.add(INSERT, {"id": number, "text": "same"})
    with pytest.raises(sa.exc.IntegrityError, match="gathered_text_key") as caught, connection.begin_nested():
        writes.send()
    assert stored(connection) == []
    assert caught.value.statement is not None
    assert "same" not in caught.value.statement
    assert caught.value.statement.count("INSERT INTO gathered") == 3
