"""Migrate a database to the schema of this release."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from shipyard_api.storage.outages import outages


def upgrade(engine: sa.Engine, directory: Path, revision: str = "head") -> None:
    """Run every migration in ``directory`` up to ``revision`` that was not run yet.

    Safe to repeat and to run concurrently. Raises StoreUnavailable.
    """
    config = _config(directory)
    with outages(), engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def current(engine: sa.Engine) -> str | None:
    """Return the last migration that was run on the database; None if there is none."""
    with outages(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head(directory: Path) -> str | None:
    """Return the newest migration of this release."""
    return ScriptDirectory.from_config(_config(directory)).get_current_head()


def _config(directory: Path) -> Config:
    return Config(directory / "alembic.ini")
