"""A phase of a group may have several batches; the constant part of a step's state has its own column; steps may be
skipped.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    states = "state IN ('running', 'success', 'failed', 'upstream_failed', 'skipped')"
    op.drop_constraint(op.f("steps_state_known"), "steps", type_="check")
    op.create_check_constraint(op.f("steps_state_known"), "steps", states)
    op.add_column("group_phases", sa.Column("batch", sa.Integer(), server_default="1", nullable=False))
    op.add_column("group_phases", sa.Column("running_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("steps", sa.Column("fixed", sa.Text(), nullable=True))
    op.drop_constraint(op.f("group_phases_pkey"), "group_phases", type_="primary")
    op.create_primary_key(op.f("group_phases_pkey"), "group_phases", ["action_id", "group_name", "phase", "batch"])


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
