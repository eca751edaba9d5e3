"""The tables of events: tickets that open a stream, and the delivery cursors of webhooks."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from shipyard_api.storage.table_metadata import metadata

_MOMENT = sa.DateTime(timezone=True)

# Tickets for event streams, by the sha256 of their secret; they expire in seconds.
event_tickets = sa.Table(
    "event_tickets",
    metadata,
    sa.Column("digest", sa.LargeBinary(32), primary_key=True),
    sa.Column("identity", JSONB, nullable=False),
    sa.Column("expires_at", _MOMENT, nullable=False),
)

# The delivery cursor of each webhook of the settings. A worker holds it while it delivers; all times by now().
webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("cursor", sa.BigInteger, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("due_at", _MOMENT, nullable=False, server_default=sa.func.now()),
    sa.Column("holder", sa.Text),
    sa.Column("held_until", _MOMENT),
)
