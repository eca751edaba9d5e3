"""Actions, their steps and projections, configdocs, tokens."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "actions",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=50), nullable=False),
        sa.Column("parameters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("context_marker", sa.String(length=36), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("allow_intermediate_commits", sa.Boolean(), nullable=True),
        sa.Column("exclusive", sa.Boolean(), nullable=False),
        sa.Column("inputs", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("wake_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(ended_at IS NOT NULL) = (state IN ('success', 'failed'))", name=op.f("actions_ended_has_end")
        ),
        sa.CheckConstraint("state IN ('queued', 'running', 'success', 'failed')", name=op.f("actions_state_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("actions_pkey")),
    )
    op.create_index(
        "actions_one_site_action_at_a_time",
        "actions",
        ["exclusive"],
        unique=True,
        postgresql_where=sa.text("exclusive AND state IN ('queued', 'running')"),
    )
    op.create_index(
        "actions_wake_at_index",
        "actions",
        ["wake_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('admin', 'viewer')", name=op.f("api_tokens_role_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("api_tokens_pkey")),
        sa.UniqueConstraint("digest", name=op.f("api_tokens_digest_unique")),
    )
    op.create_table(
        "document_contents",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("document_contents_pkey")),
    )
    op.create_table(
        "revisions",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("revisions_pkey")),
    )
    op.create_table(
        "action_nodes",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=16), nullable=True),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("group_name", sa.String(length=128), nullable=True),
        sa.Column("groups", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('not_started', 'prepared', 'success', 'failure')", name=op.f("action_nodes_status_known")
        ),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("action_nodes_action_id_fkey")),
        sa.PrimaryKeyConstraint("action_id", "name", name=op.f("action_nodes_pkey")),
    )
    op.create_table(
        "command_audit",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("command", sa.String(length=32), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("command_audit_action_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("command_audit_pkey")),
    )
    op.create_index(op.f("command_audit_action_id_index"), "command_audit", ["action_id"], unique=False)
    op.create_table(
        "deployment_groups",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("critical", sa.Boolean(), nullable=False),
        sa.Column("depends_on", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=16), nullable=True),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "(reason IS NOT NULL) = (status = 'failed')", name=op.f("deployment_groups_failed_has_reason")
        ),
        sa.CheckConstraint(
            "status IN ('not_started', 'preparing', 'deploying', 'success', 'failed')",
            name=op.f("deployment_groups_status_known"),
        ),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("deployment_groups_action_id_fkey")),
        sa.PrimaryKeyConstraint("action_id", "position", name=op.f("deployment_groups_pkey")),
        sa.UniqueConstraint("action_id", "name", name=op.f("deployment_groups_action_id_name_unique")),
    )
    op.create_table(
        "journal",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("step_id", sa.String(length=128), nullable=True),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("journal_action_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("journal_pkey")),
    )
    op.create_index(op.f("journal_action_id_id_index"), "journal", ["action_id", "id"], unique=False)
    op.create_index(
        "journal_jobs_index",
        "journal",
        ["at"],
        postgresql_where=sa.text("kind IN ('phase_started', 'job_started')"),
    )
    op.create_table(
        "revision_documents",
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("schema", sa.String(length=64), nullable=False),
        sa.Column("layer", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("collection", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["hash"], ["document_contents.hash"], name=op.f("revision_documents_hash_fkey")),
        sa.ForeignKeyConstraint(["revision"], ["revisions.id"], name=op.f("revision_documents_revision_fkey")),
        sa.PrimaryKeyConstraint("revision", "schema", "layer", "name", name=op.f("revision_documents_pkey")),
    )
    op.create_table(
        "revision_tags",
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(length=64), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["revision"], ["revisions.id"], name=op.f("revision_tags_revision_fkey")),
        sa.PrimaryKeyConstraint("revision", "tag", name=op.f("revision_tags_pkey")),
    )
    op.create_table(
        "steps",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("state", sa.String(length=24), nullable=True),
        sa.Column("memory", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("intent", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "state IN ('running', 'success', 'failed', 'upstream_failed')", name=op.f("steps_state_known")
        ),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("steps_action_id_fkey")),
        sa.PrimaryKeyConstraint("action_id", "position", name=op.f("steps_pkey")),
        sa.UniqueConstraint("action_id", "id", name=op.f("steps_action_id_id_unique")),
    )
    op.create_table(
        "group_phases",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("group_name", sa.String(length=128), nullable=False),
        sa.Column("phase", sa.String(length=8), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("nodes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("message", sa.Text(), server_default="", nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("phase IN ('prepare', 'deploy')", name=op.f("group_phases_phase_known")),
        sa.ForeignKeyConstraint(
            ["action_id", "group_name"],
            ["deployment_groups.action_id", "deployment_groups.name"],
            name=op.f("group_phases_action_id_group_name_fkey"),
        ),
        sa.PrimaryKeyConstraint("action_id", "group_name", "phase", name=op.f("group_phases_pkey")),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
