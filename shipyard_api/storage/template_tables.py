"""The tables of deploy templates: which deploy steps a trait asks for (seed 003)."""

import sqlalchemy as sa

from shipyard_api.storage.table_metadata import metadata

ONE_TEMPLATE_FOR_EACH_NAME = "deploy_templates_name_unique"
ONE_TEMPLATE_FOR_EACH_ID = "deploy_templates_uuid_unique"

_MOMENT = sa.DateTime(timezone=True)

deploy_templates = sa.Table(
    "deploy_templates",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False),
    # The name of the trait.
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("extra", sa.JSON, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("created_at", _MOMENT, nullable=False),
    sa.Column("updated_at", _MOMENT),
    sa.UniqueConstraint("uuid", name=ONE_TEMPLATE_FOR_EACH_ID),
    sa.UniqueConstraint("name", name=ONE_TEMPLATE_FOR_EACH_NAME),
)

deploy_template_steps = sa.Table(
    "deploy_template_steps",
    metadata,
    sa.Column("template_id", sa.BigInteger, sa.ForeignKey("deploy_templates.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("interface", sa.String(16), nullable=False),
    sa.Column("step", sa.String(255), nullable=False),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.UniqueConstraint("template_id", "interface", "step"),
    sa.CheckConstraint("priority >= 0", name="priority_not_negative"),
)
