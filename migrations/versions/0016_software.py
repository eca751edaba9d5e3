"""Releases, clusters, and the roles and tags of their nodes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "releases",
        sa.Column("id", sa.Integer(), sa.Identity(start=2), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("version", sa.String(255), nullable=False),
        sa.Column("operating_system", sa.String(255), nullable=False),
        sa.Column("tasks", sa.JSON(), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("releases_pkey")),
        sa.UniqueConstraint("name", "version", name="releases_name_version_unique"),
    )
    op.create_table(
        "clusters",
        sa.Column("id", sa.Integer(), sa.Identity(start=2), nullable=False),
        sa.Column("release_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("tasks", sa.JSON(), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("clusters_pkey")),
        sa.ForeignKeyConstraint(["release_id"], ["releases.id"], name=op.f("clusters_release_id_fkey")),
    )
    op.create_table(
        "cluster_nodes",
        sa.Column("id", sa.Integer(), sa.Identity(), nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("roles", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("assigned", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("cluster_nodes_pkey")),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("cluster_nodes_cluster_id_fkey")),
        sa.UniqueConstraint("cluster_id", "name", name=op.f("cluster_nodes_cluster_id_name_unique")),
    )
    op.create_table(
        "cluster_primaries",
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("domain", sa.String(8), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("cluster_id", "domain", "name", name=op.f("cluster_primaries_pkey")),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("cluster_primaries_cluster_id_fkey")),
        sa.ForeignKeyConstraint(
            ["node_id"], ["cluster_nodes.id"], name=op.f("cluster_primaries_node_id_fkey"), ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
