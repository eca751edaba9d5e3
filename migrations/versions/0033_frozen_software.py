"""What an action reads of the site's task graph is frozen with it; so far it was read when its step began."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("software", sa.JSON))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
