"""What each node was given. Sites that exist: by the action that sent the node last, as far as that is known."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

# A redeployment always sends its node. Any other action leaves a deployed node alone, so that the oldest success since
# the node was last lost sent it.
_SENT = sa.text("""
    WITH worked AS (
        SELECT held.name, held.action_id, held.status, held.reason, held.group_name, held.updated_at,
               actions.name AS action_name, actions.revision
        FROM action_nodes held JOIN actions ON actions.id = held.action_id
        WHERE held.status <> 'not_started' OR held.reason = 'teardown'
    ), lost AS (
        SELECT name, max(action_id) AS action_id FROM worked
        WHERE status = 'failure' OR reason = 'teardown' GROUP BY name
    )
    SELECT DISTINCT ON (worked.name) worked.name, worked.action_id, worked.revision, worked.updated_at AS at
    FROM worked LEFT JOIN lost ON lost.name = worked.name
    WHERE worked.status = 'success' AND worked.group_name IS NOT NULL AND worked.action_name <> 'service_server'
      AND (lost.action_id IS NULL OR worked.action_id > lost.action_id)
    ORDER BY worked.name, worked.action_name = 'redeploy_server' DESC,
             CASE WHEN worked.action_name = 'redeploy_server' THEN worked.action_id END DESC, worked.action_id
""")
_STEPS = sa.text("SELECT inputs -> 'deploy_steps' FROM actions WHERE id = :action")


def upgrade() -> None:
    specifications = op.create_table(
        "node_specifications",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("revision", sa.Integer),
        sa.Column("aspects", JSONB, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("action_nodes", sa.Column("given", JSONB))
    op.add_column("action_nodes", sa.Column("older", sa.Boolean, nullable=False, server_default=sa.false()))
    connection = op.get_bind()
    by_action: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in connection.execute(_SENT).mappings():
        by_action[row["action_id"]].append(dict(row))
    for action, rows in by_action.items():
        stored = connection.execute(_STEPS, {"action": action}).scalar_one() or ()
        aspects = {node: entry for nodes, entry in map(_aspects, stored) for node in nodes}
        op.bulk_insert(specifications, [{**row, "aspects": aspects.get(row["name"], {})} for row in rows])


def _aspects(entry: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return nodes with the digests of the steps that they share: as the release of this migration makes them."""
    return entry["nodes"], dict(_digests(entry["steps"]))


def _digests(steps: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for template in dict.fromkeys(step["template"] for step in steps):
        written = [
            json.dumps({key: value for key, value in step.items() if key != "template"}, sort_keys=True)
            for step in steps
            if step["template"] == template and step["priority"]
        ]
        yield f"steps:{template}", hashlib.sha256("\n".join(sorted(written)).encode()).hexdigest()[:32]


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
