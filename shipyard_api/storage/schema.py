"""Which schemas of the database this release works on: the code's side of ``migrations``, without its libraries."""

from shipyard_api.ports.state.errors import UnsuitableDatabase

OLDEST = "0023"
"""The first schema with every table and column that the code uses."""

NEWEST = "0023"
"""The schema that ``db upgrade`` of this release leads to."""

CURRENT = "SELECT version_num FROM alembic_version"


def check(applied: str | None) -> None:
    """Raise UnsuitableDatabase unless this release works on the schema; None: the database has none."""
    if applied is None:
        raise UnsuitableDatabase("the database has no schema: run `shipyard db upgrade`")
    if applied < OLDEST:
        raise UnsuitableDatabase(
            f"the database has schema {applied}, and this release needs {supported()}: run `shipyard db upgrade`"
        )
    if applied > NEWEST:
        raise UnsuitableDatabase(
            f"the database has schema {applied}, and this release knows only {supported()}: "
            "install the release that upgraded it, or restore a backup"
        )


def supported() -> str:
    """Return the range of schemas that this release works on."""
    return OLDEST if OLDEST == NEWEST else f"{OLDEST} to {NEWEST}"
