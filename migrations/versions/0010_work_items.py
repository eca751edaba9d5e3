"""Work items: the durable parts that a step fans out into."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "work_items",
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("step_id", sa.String(128), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("memory", sa.JSON()),
        sa.Column("intent", sa.JSON()),
        sa.Column("epoch", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("wake_at", moment),
        sa.Column("holder", sa.Text()),
        sa.Column("stop", sa.Text()),
        sa.Column("broken", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("detail", sa.Text(), nullable=False, server_default=""),
        sa.Column("gathered", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("started_at", moment),
        sa.Column("ended_at", moment),
        sa.PrimaryKeyConstraint("action_id", "step_id", "id", name=op.f("work_items_pkey")),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("work_items_action_id_fkey")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'success', 'failed', 'stopped')", name=op.f("work_items_state_known")
        ),
        sa.CheckConstraint(
            "(ended_at IS NOT NULL) = (state IN ('success', 'failed', 'stopped'))",
            name=op.f("work_items_ended_has_end"),
        ),
    )
    indexes = {
        "due": (["action_id", "wake_at", "position"], "ended_at IS NULL AND wake_at IS NOT NULL"),
        "held": (["holder"], "ended_at IS NULL AND holder IS NOT NULL"),
        "open": (["action_id", "step_id"], "ended_at IS NULL"),
        "ended": (["action_id", "step_id", "ended_at", "position"], "ended_at IS NOT NULL AND NOT gathered"),
    }
    for name, (columns, where) in indexes.items():
        op.create_index(f"work_items_{name}_index", "work_items", columns, postgresql_where=sa.text(where))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
