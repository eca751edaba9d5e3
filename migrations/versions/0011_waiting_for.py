"""An action says what it waits for."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("waiting_for", sa.JSON(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
