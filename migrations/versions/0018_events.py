"""Events: a notice of each transaction that writes to the journal, and tickets for callers who cannot send headers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A trigger, because workers of the previous release write here, too. The lock says from which id on this
    # transaction may still add entries; readers go no further. Its key has 16 bits of our own and 48 of the id.
    op.execute("""
        CREATE FUNCTION announce_journal() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(
                (21271::bigint << 48) + coalesce(pg_sequence_last_value('journal_id_seq'), 0) + 1
            );
            PERFORM pg_notify('shipyard_journal', '');
            RETURN NULL;
        END $$
    """)
    op.execute("""
        CREATE TRIGGER journal_announced BEFORE INSERT ON journal
        FOR EACH STATEMENT EXECUTE FUNCTION announce_journal()
    """)
    op.create_table(
        "event_tickets",
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("identity", JSONB(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("event_tickets_pkey")),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
