"""Tokens have several roles and a last use; actions may have an idempotency key, and need no revision; writes are
counted per caller.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("roles", ARRAY(sa.Text()), nullable=True))
    op.execute("UPDATE api_tokens SET roles = ARRAY[role::text]")
    op.alter_column("api_tokens", "roles", nullable=False)
    op.drop_constraint(op.f("api_tokens_role_known"), "api_tokens", type_="check")
    op.drop_column("api_tokens", "role")
    op.add_column("api_tokens", sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True))
    op.alter_column("actions", "revision", nullable=True)
    op.add_column("actions", sa.Column("idempotency_key", sa.String(255), nullable=True))
    op.add_column("actions", sa.Column("request_digest", sa.LargeBinary(32), nullable=True))
    op.create_index(
        "actions_one_for_each_key",
        "actions",
        ["user_name", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index(
        "journal_on_actions_index",
        "journal",
        ["action_id"],
        postgresql_where=sa.text("kind IN ('late', 'noted')"),
    )
    op.create_table(
        "rate_limits",
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("free_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("caller", name=op.f("rate_limits_pkey")),
        prefixes=["UNLOGGED"],
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
