"""The history of a node is found in rows of its own, and no longer in the text of the journal."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_REACHED = {"prepare_nodes": ("prepare", "prepared"), "deploy_nodes": ("deploy", "success")}
_ROWS = 200


def upgrade() -> None:
    op.add_column(
        "action_nodes",
        sa.Column("known_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
    )
    op.execute(
        "UPDATE action_nodes SET known_at = journal.at FROM journal "
        "WHERE journal.kind = 'members_known' AND journal.action_id = action_nodes.action_id"
    )
    changes = op.create_table(
        "node_changes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("group_name", sa.String(128), nullable=True),
        sa.Column("phase", sa.String(16), nullable=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(16), nullable=True),
        sa.Column("nodes", ARRAY(sa.Text()), nullable=False),
        sa.Column("details", ARRAY(sa.Text()), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name=op.f("node_changes_action_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("node_changes_pkey")),
    )
    op.create_index(
        op.f("node_changes_action_id_group_name_index"), "node_changes", ["action_id", "group_name"], unique=False
    )
    connection = op.get_bind()
    found = sa.text(
        "SELECT id, action_id, kind, at, facts FROM journal "
        "WHERE kind IN ('nodes_changed', 'nodes_kept', 'late') AND id > :after ORDER BY id LIMIT :rows"
    )
    after = 0
    while lines := connection.execute(found, {"after": after, "rows": _ROWS}).all():
        after = lines[-1].id
        rows = [row for line in lines for row in _changes(line)]
        if rows:
            connection.execute(changes.insert(), rows)


def _changes(line: Any) -> Iterator[dict[str, Any]]:
    facts = line.facts
    row = {"action_id": line.action_id, "at": line.at, "group_name": None, "phase": None, "reason": None, "late": False}
    if line.kind == "nodes_changed":
        details = [facts.get("details", {}).get(node, "") for node in facts["nodes"]]
        own = {"group_name": facts["group"], "phase": facts["phase"], "reason": facts.get("reason")}
        yield {**row, **own, "status": facts["status"], "nodes": facts["nodes"], "details": details}
    elif line.kind == "nodes_kept":
        details = [f"kept: deployed by {facts['action']}"] * len(facts["nodes"])
        yield {**row, "status": "success", "nodes": facts["nodes"], "details": details}
    elif facts["operation"] in _REACHED:
        phase, reached = _REACHED[facts["operation"]]
        for status, nodes in ((reached, facts["succeeded"]), ("failure", facts["failed"])):
            if nodes:
                details = [facts["message"]] * len(nodes)
                yield {**row, "phase": phase, "late": True, "status": status, "nodes": nodes, "details": details}


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
