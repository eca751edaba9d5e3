"""Plans that were stored to be approved."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "plans",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("stored_by", sa.Text(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("signatures", sa.JSON(), nullable=True),
        sa.Column("action_id", sa.String(26), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("plans_pkey")),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("plans_action_id_fkey")),
    )
    op.create_index(op.f("plans_action_id_index"), "plans", ["action_id"], unique=True)


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
