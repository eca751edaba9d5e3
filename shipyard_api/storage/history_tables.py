"""The table of the database's histories."""

import sqlalchemy as sa

from shipyard_api.storage.table_metadata import metadata

histories = sa.Table(
    "histories",
    metadata,
    # Counts the histories of the site; the newest is the current one.
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    # See domain.histories.HistoryIdentity.
    sa.Column("system", sa.BigInteger, nullable=False),
    sa.Column("timeline", sa.BigInteger, nullable=False),
    sa.Column("database", sa.BigInteger, nullable=False),
    sa.Column("relation", sa.BigInteger, nullable=False),
    # By the database's clock; of a promotion, when that was.
    sa.Column("noticed_at", sa.DateTime(timezone=True), nullable=False),
    # How it differs from the one before; empty for the first.
    sa.Column("difference", sa.Text, nullable=False),
)
