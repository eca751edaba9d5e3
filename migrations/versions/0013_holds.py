"""Holds on nodes, and limits that are changed while an action runs."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("limits", sa.JSON(), nullable=True))
    op.create_table(
        "holds",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_by", sa.Text(), nullable=False),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("released_by", sa.Text(), nullable=True),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("holds_pkey")),
        sa.CheckConstraint("(released_by IS NULL) = (released_at IS NULL)", name=op.f("holds_released_by_someone")),
    )
    op.create_index("holds_active_index", "holds", ["node"], postgresql_where=sa.text("released_at IS NULL"))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
