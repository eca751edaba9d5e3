"""Teardowns of nodes: how each operation began and ended."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "node_teardowns",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("operation", sa.String(32), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("etcd_begun", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("node_teardowns_pkey")),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("node_teardowns_action_id_fkey")),
    )
    op.create_index("node_teardowns_node_id_index", "node_teardowns", ["node", "id"])


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
