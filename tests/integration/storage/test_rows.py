"""A row becomes a record by the names of its columns; a field without a column is an error, not a default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.groups import Phase
from shipyard_api.storage.rows import record


@dataclass(frozen=True)
class Sample:
    action: str
    user: str
    phase: Phase | None = Phase.DEPLOY
    tags: tuple[str, ...] = ()


COLUMNS = {
    "user_name": "ann",
    "tags": ["a", "b"],
    "phase": "prepare",
    "action_name": "deploy_site",
    "action_id": "01M7",
}


def row(engine: sa.Engine, columns: Mapping[str, Any]) -> sa.Row[Any]:
    with engine.connect() as connection:
        return connection.execute(
            sa.select(
                *(
                    sa.literal(value, ARRAY(sa.Text) if isinstance(value, list) else sa.Text).label(name)
                    for name, value in columns.items()
                )
            )
        ).one()


def test_a_row_becomes_a_record(engine: sa.Engine) -> None:
    assert record(Sample, row(engine, COLUMNS)) == Sample("01M7", "ann", Phase.PREPARE, ("a", "b"))
    assert record(Sample, row(engine, COLUMNS | {"phase": None}), user="bob") == Sample("01M7", "bob", None, ("a", "b"))


def test_no_default_stands_for_a_column_that_is_missing(engine: sa.Engine) -> None:
    columns = {name: value for name, value in COLUMNS.items() if name != "phase"}
    with pytest.raises(IndexError):
        record(Sample, row(engine, columns))
