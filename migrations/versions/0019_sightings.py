"""Sightings: what peers showed of deployed nodes when their action had ended."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "node_sightings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("installed", sa.Text(), nullable=False),
        sa.Column("member", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("node_sightings_pkey")),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("node_sightings_action_id_fkey")),
    )
    op.create_table(
        "sighted_actions",
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("look_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("action_id", name=op.f("sighted_actions_pkey")),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("sighted_actions_action_id_fkey")),
    )
    op.create_index(
        "sighted_actions_due_index", "sighted_actions", ["look_at"], postgresql_where=sa.text("done_at IS NULL")
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
