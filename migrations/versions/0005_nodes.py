"""An index for the latest action of each node, and for all actions of one node."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("action_nodes_name_action_id_index"), "action_nodes", ["name", "action_id"], unique=False)


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
