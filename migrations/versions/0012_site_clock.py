"""The site's clock: the database's, without the steps by which somebody set it."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "site_clock",
        sa.Column("id", sa.SmallInteger(), nullable=False, autoincrement=False),
        sa.Column("ahead", sa.Interval(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("site_clock_pkey")),
        sa.CheckConstraint("id = 1", name=op.f("site_clock_one_row")),
    )
    op.create_table(
        "clock_anchors",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("clock_anchors_pkey")),
    )
    op.execute("""
        CREATE FUNCTION site_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS
        $$ SELECT clock_timestamp() - coalesce((SELECT ahead FROM site_clock), '0') $$
    """)
    op.execute("""
        CREATE FUNCTION queue_time(at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS
        $$ SELECT at + coalesce((SELECT ahead FROM site_clock), '0') $$
    """)


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
