"""${message}

Expand only: programs of the last release run on this schema, too (ADR 0034). A column or table goes one release after
the code stopped using it; then set ``usable_from`` to the schema that the first release without it led to. Name every
constraint. Say here how long the statement may hold a lock on a table of 100,000 rows.
"""
from alembic import op
import sqlalchemy as sa
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
