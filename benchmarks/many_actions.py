"""A database with thousands of actions, as a site has them after years."""

from __future__ import annotations

import sqlalchemy as sa
from served import ROOT

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens

ACTIONS, STEPS = 10_000, 11
FILL = (
    "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)",
    f"""INSERT INTO actions (id, name, parameters, user_name, context_marker, revision, exclusive, inputs, state,
           started_at, ended_at)
       SELECT '01M7XV7VKPMDHXJVA7WM' || lpad(a::text, 6, '0'), 'deploy_site', '{{"site": "lab"}}', 'ann',
           '4e4f05a8-6c3e-4c3d-9a4f-2f3c1a5b7d9e', 1, true, '{{}}', 'success', now(), now()
       FROM generate_series(1, {ACTIONS}) a""",
    # The rows of an action lie together, as they do when one action after the other has written them.
    f"""INSERT INTO steps (action_id, position, id, state, started_at, ended_at)
       SELECT a.id, s, 'preflight.step_' || s, 'success', now(), now() FROM actions a, generate_series(1, {STEPS}) s
       ORDER BY a.id, s""",
    """INSERT INTO journal (action_id, epoch, step_id, kind, at, worker, facts)
       SELECT action_id, 1, s.id, kind, now(), 'w', facts::jsonb
       FROM steps s, (VALUES
           ('step_started', '{}'),
           ('step_ended', '{}'),
           ('rollout_ended', '{"nodes": {"success": ["n1", "n2"]}, "groups": {"success": ["control"]},
               "critical": ["control"]}')) v(kind, facts)
       WHERE kind <> 'rollout_ended' OR position = 7
       ORDER BY action_id, position, kind DESC""",
    """INSERT INTO command_audit (id, action_id, command, user_name) SELECT id, id, 'invoke', 'ann' FROM actions""",
)


def prepared(url: str) -> str:
    """Fill the database; return a token."""
    engine = connect(url, pool_size=1)
    migrations.upgrade(engine, ROOT / "migrations")
    with engine.begin() as connection:
        for statement in FILL:
            connection.execute(sa.text(statement))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE"))
    _, token = ApiTokens(Store(engine, ProcrastinateWakeup())).create("benchmark", "admin")
    engine.dispose()
    return token
