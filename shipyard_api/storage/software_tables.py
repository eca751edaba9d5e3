"""The tables of releases, clusters and their nodes (seeds 001 and 002)."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.storage.table_metadata import metadata

ONE_RELEASE_FOR_EACH_VERSION = "releases_name_version_unique"

# Release 1 and cluster 1 exist without a row until they change.
releases = sa.Table(
    "releases",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(start=2), primary_key=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("version", sa.String(255), nullable=False),
    sa.Column("operating_system", sa.String(255), nullable=False),
    # The task document as written; roles and tags by name.
    sa.Column("tasks", sa.JSON, nullable=False),
    sa.Column("roles", sa.JSON, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    sa.UniqueConstraint("name", "version", name=ONE_RELEASE_FOR_EACH_VERSION),
)

clusters = sa.Table(
    "clusters",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(start=2), primary_key=True),
    sa.Column("release_id", sa.Integer, sa.ForeignKey("releases.id"), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("tasks", sa.JSON, nullable=False),
    sa.Column("roles", sa.JSON, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    # What conditions of tasks read.
    sa.Column("settings", sa.JSON, nullable=False),
)

# Every node that a committed design ever had: a node that comes back has its id, its roles and its tags again.
cluster_nodes = sa.Table(
    "cluster_nodes",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("cluster_id", sa.Integer, sa.ForeignKey("clusters.id"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("roles", ARRAY(sa.Text), nullable=False),
    sa.Column("tags", ARRAY(sa.Text), nullable=False),
    # The tags that a user assigned.
    sa.Column("assigned", ARRAY(sa.Text), nullable=False),
    sa.UniqueConstraint("cluster_id", "name"),
)

cluster_primaries = sa.Table(
    "cluster_primaries",
    metadata,
    sa.Column("cluster_id", sa.Integer, sa.ForeignKey("clusters.id"), primary_key=True),
    # Whether the name is of a role or of a tag.
    sa.Column("domain", sa.String(8), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("node_id", sa.Integer, sa.ForeignKey("cluster_nodes.id", ondelete="CASCADE"), nullable=False),
)

# A task on a node in an action.
task_results = sa.Table(
    "task_results",
    metadata,
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    # Under which the node knows it.
    sa.Column("marker", sa.Text, nullable=False),
    sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("ended_at", sa.DateTime(timezone=True)),
    sa.Column("exit_status", sa.Integer),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("tail", sa.Text, nullable=False),
    sa.Index(None, "node", "action_id"),
)
