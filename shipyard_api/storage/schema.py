"""Which schemas of the database this release works on: the code's side of ``migrations``, without its libraries.

ADR 0034: a newer release's migrations only add to the schema, until one says which programs it no longer serves.
"""

from shipyard_api.ports.state.errors import UnsuitableDatabase

OLDEST = "0038"
"""The first schema with every table and column that the code uses."""

NEWEST = "0038"
"""The schema that ``db upgrade`` of this release leads to."""

ROLLING_FROM = "0023"
"""Programs that know this schema look at ``USABLE_FROM``; earlier ones must be stopped before an upgrade."""

CURRENT = """
SELECT version_num, obj_description('alembic_version'::regclass, 'pg_class') AS usable_from FROM alembic_version
"""
"""The schema of the database, and the oldest ``NEWEST`` of programs that work on it; NULL: only its own programs.

``db upgrade`` stores that as the comment of the table: a dump holds it, and programs of all releases can read it.
"""


def check(applied: str | None, usable_from: str | None = None) -> None:
    """Raise UnsuitableDatabase unless this release works on the schema: see ``CURRENT``. None: there is none."""
    if applied is None:
        raise UnsuitableDatabase("the database has no schema: run `shipyard db upgrade`")
    if applied < OLDEST:
        raise UnsuitableDatabase(
            f"the database has schema {applied}, and this release needs {supported()}: run `shipyard db upgrade`"
        )
    if is_newer(applied) and (usable_from is None or usable_from > NEWEST):
        raise UnsuitableDatabase(
            f"the database has schema {applied}, and this release knows only {supported()}: "
            "install the release that upgraded it, or restore a backup"
        )


def is_newer(applied: str | None) -> bool:
    """Return whether a newer release has upgraded the database."""
    return applied is not None and applied > NEWEST


def supported() -> str:
    """Return the range of schemas that this release works on."""
    return OLDEST if OLDEST == NEWEST else f"{OLDEST} to {NEWEST}"
