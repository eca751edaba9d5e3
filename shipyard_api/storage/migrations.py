"""Migrate a database to the schema of this release."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from shipyard_api.storage import schema
from shipyard_api.storage.connections import outages


def upgrade(engine: sa.Engine, directory: Path, revision: str = "head") -> None:
    """Run every migration in ``directory`` up to ``revision`` that was not run yet.

    Safe to repeat and to run concurrently. Raises StoreUnavailable.
    """
    config = _config(directory)
    with outages(), engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def usable_from(scripts: ScriptDirectory) -> str:
    """Return the oldest schema whose programs work on the newest one: see ``schema.CURRENT``.

    A migration that takes from the schema, or forbids, what such programs may use names a later one: ``usable_from``.
    """
    marks = [getattr(script.module, "usable_from", schema.ROLLING_FROM) for script in scripts.walk_revisions()]
    return max(map(str, marks))


def head(directory: Path) -> str | None:
    """Return the newest migration of this release."""
    return ScriptDirectory.from_config(_config(directory)).get_current_head()


def _config(directory: Path) -> Config:
    return Config(directory / "alembic.ini")
