"""Actions can be paused and stopped; stragglers are recorded and polled."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_MOVING = "state IN ('queued', 'running', 'paused')"


def upgrade() -> None:
    op.drop_constraint(op.f("actions_state_known"), "actions", type_="check")
    op.create_check_constraint(
        op.f("actions_state_known"), "actions", "state IN ('queued', 'running', 'paused', 'success', 'failed')"
    )
    op.add_column("actions", sa.Column("stopped_by", sa.Text(), nullable=True))
    op.drop_index("actions_one_site_action_at_a_time", table_name="actions")
    op.create_index(
        "actions_one_site_action_at_a_time",
        "actions",
        ["exclusive"],
        unique=True,
        postgresql_where=sa.text(f"exclusive AND {_MOVING}"),
    )
    op.drop_index("actions_wake_at_index", table_name="actions")
    op.create_index("actions_wake_at_index", "actions", ["wake_at"], postgresql_where=sa.text(_MOVING))
    op.create_table(
        "stragglers",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("operation", sa.String(length=32), nullable=False),
        sa.Column("design", sa.Text(), nullable=False),
        sa.Column("nodes", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("look_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("stragglers_action_id_fkey")),
        sa.PrimaryKeyConstraint("action_id", "job", name=op.f("stragglers_pkey")),
    )
    op.create_index("stragglers_look_at_index", "stragglers", ["look_at"], postgresql_where=sa.text("ended_at IS NULL"))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
