"""Since when a node of an action is late, and how long its phase usually lasts."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("action_nodes", sa.Column("late_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("action_nodes", sa.Column("late_usual", sa.Double(), nullable=True))
    late = sa.text("late_since IS NOT NULL")
    op.create_index("action_nodes_late_index", "action_nodes", ["action_id"], postgresql_where=late)


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
