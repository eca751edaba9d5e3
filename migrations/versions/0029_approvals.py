"""What people have said of the gates between the waves of an action."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("approvals", sa.JSON(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
