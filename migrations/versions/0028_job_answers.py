"""What an operator has said of jobs whose record the database may have lost."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("job_answers", sa.JSON(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
