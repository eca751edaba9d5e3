"""Actions keep the trace context of their request."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("traceparent", sa.String(55), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
