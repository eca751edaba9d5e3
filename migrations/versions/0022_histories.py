"""Histories of the database, and from when on a running action may have lost its own."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "histories",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("system", sa.BigInteger(), nullable=False),
        sa.Column("timeline", sa.BigInteger(), nullable=False),
        sa.Column("database", sa.BigInteger(), nullable=False),
        sa.Column("relation", sa.BigInteger(), nullable=False),
        sa.Column("noticed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("difference", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("histories_pkey")),
    )
    op.add_column("actions", sa.Column("lost_after", sa.DateTime(timezone=True), nullable=True))
    op.add_column("actions", sa.Column("loss_noticed_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
