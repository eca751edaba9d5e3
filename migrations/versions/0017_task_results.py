"""Tasks of the software stage: one row for each task on a node in an action."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "task_results",
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("marker", sa.Text(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("exit_status", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("tail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("action_id", "node", "task", name=op.f("task_results_pkey")),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("task_results_action_id_fkey")),
    )
    op.create_index("task_results_node_action_id_index", "task_results", ["node", "action_id"])


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
