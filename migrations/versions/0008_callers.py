"""An idempotency key belongs to one caller rather than to a name; an index finds actions by creation time."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("caller", sa.Text(), nullable=True))
    # A key belongs to the token of its user name if only one token ever had that name. Other old keys lose their owner:
    # a repeated request that creates a second action is better than one that returns another caller's action.
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
