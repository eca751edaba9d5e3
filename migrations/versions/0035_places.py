"""Where the server's write-ahead log was when a turn of the action began."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("place", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
