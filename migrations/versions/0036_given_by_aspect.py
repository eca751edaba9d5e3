"""When a node was given an aspect on its own, by which provisioner, who adopted it. Older rows do not say."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    empty = sa.text("'{}'::jsonb")
    op.add_column("node_specifications", sa.Column("revisions", JSONB, nullable=False, server_default=empty))
    op.add_column("node_specifications", sa.Column("provisioner", sa.Text, nullable=False, server_default=""))
    op.add_column("node_specifications", sa.Column("adopted_by", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
