"""Cases of earlier actions are found by an index of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "journal_cases_index",
        "journal",
        ["action_id"],
        postgresql_where=sa.text("kind IN ('case_opened', 'case_changed', 'case_closed')"),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
