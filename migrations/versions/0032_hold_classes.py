"""What a hold keeps from its node; so far it was everything."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("holds", sa.Column("class", sa.String(16), nullable=False, server_default="all"))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
