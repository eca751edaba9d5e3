"""What was seen of the hardware of nodes is kept: by a process alone, it is lost with the process."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "seen_hardware",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("features", JSONB, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
