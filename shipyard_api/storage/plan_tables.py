"""The table of stored plans."""

import sqlalchemy as sa

from shipyard_api.storage.table_metadata import metadata

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("id", sa.String(26), primary_key=True),
    sa.Column("name", sa.String(50), nullable=False),
    # The hash that people sign, and the content that it is of.
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("content", sa.JSON(none_as_null=True), nullable=False),
    # The body of the request, and the plan as it was answered: what an approver reads.
    sa.Column("request", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("shown", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("stored_by", sa.Text, nullable=False),
    # The id of the token or user of that name, as names are not unique.
    sa.Column("caller", sa.Text, nullable=False),
    sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("signatures", sa.JSON(none_as_null=True)),
    # The action that was started from the plan. A plan is used once, and deleted with its action.
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id")),
    sa.Index(None, "action_id", unique=True),
)
