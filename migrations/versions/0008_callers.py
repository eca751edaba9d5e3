"""An idempotency key belongs to a caller, not to all of the same name; actions are found by when they were created."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("caller", sa.Text(), nullable=True))
    # Of a name that only one token has ever had it is clear whose key it was. Any other key of before becomes nobody's:
    # better a request that creates another action than one that is answered with somebody else's.
    op.execute(
        "UPDATE actions SET caller = owner.id "
        "FROM (SELECT name, min(id) AS id FROM api_tokens GROUP BY name HAVING count(*) = 1) AS owner "
        "WHERE actions.idempotency_key IS NOT NULL AND actions.user_name = owner.name"
    )
    op.drop_index("actions_one_for_each_key", "actions")
    op.create_index(
        "actions_one_for_each_key",
        "actions",
        ["caller", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index("actions_created_at_index", "actions", ["created_at"])


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
