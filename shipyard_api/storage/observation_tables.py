"""The tables of observations: what peers showed of nodes when their action had ended (product, section 9)."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from shipyard_api.storage.table_metadata import metadata

# The newest observation of each node.
node_sightings = sa.Table(
    "node_sightings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id"), nullable=False),
    # What the provisioner names the machine and its installation by; empty where it does not show that.
    sa.Column("machine", sa.Text, nullable=False),
    sa.Column("installed", sa.Text, nullable=False),
    # The node in its cluster; NULL if the cluster did not have it.
    sa.Column("member", sa.JSON(none_as_null=True)),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
)

# What each node was given, as far as it is known: a digest by aspect. No key to actions: it outlives them. An adopted
# node has no action. ``revisions``: of aspects that came later than the others. ``provisioner``: '' in older rows.
node_specifications = sa.Table(
    "node_specifications",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("action_id", sa.String(26), nullable=False),
    sa.Column("revision", sa.Integer),
    sa.Column("aspects", JSONB, nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("revisions", JSONB, nullable=False, server_default=sa.text("'{}'::jsonb")),
    sa.Column("provisioner", sa.Text, nullable=False, server_default=""),
    sa.Column("adopted_by", sa.Text, nullable=False, server_default=""),
)

# What was seen last of the hardware of each node: the features that failed nodes may share, such as its switches.
seen_hardware = sa.Table(
    "seen_hardware",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("features", JSONB, nullable=False),
)

# Ended actions whose nodes are not observed yet.
sighted_actions = sa.Table(
    "sighted_actions",
    metadata,
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("look_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("done_at", sa.DateTime(timezone=True)),
)
sa.Index("sighted_actions_due_index", sighted_actions.c.look_at, postgresql_where=sa.text("done_at IS NULL"))
