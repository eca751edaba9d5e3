"""Deploy templates and their steps."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "deploy_templates",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("extra", sa.JSON(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("deploy_templates_pkey")),
        sa.UniqueConstraint("uuid", name="deploy_templates_uuid_unique"),
        sa.UniqueConstraint("name", name="deploy_templates_name_unique"),
    )
    op.create_table(
        "deploy_template_steps",
        sa.Column("template_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("interface", sa.String(16), nullable=False),
        sa.Column("step", sa.String(255), nullable=False),
        sa.Column("args", sa.JSON(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("template_id", "position", name=op.f("deploy_template_steps_pkey")),
        sa.ForeignKeyConstraint(
            ["template_id"],
            ["deploy_templates.id"],
            name=op.f("deploy_template_steps_template_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint(
            "template_id", "interface", "step", name=op.f("deploy_template_steps_template_id_interface_step_unique")
        ),
        sa.CheckConstraint("priority >= 0", name=op.f("deploy_template_steps_priority_not_negative")),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
