"""The cost of listing nodes on a large site with a history: ``python benchmarks/nodes.py``.

Lists 10,000 nodes in 100 groups, deployed by 100 actions, through the API on an embedded Postgres. Reports the median
of several rounds by the wall clock, and as a multiple of the reference (``reference.Phase``) that is measured beside
each. Exits 1 if a bound is exceeded.
"""

import statistics
import sys
from pathlib import Path
from time import perf_counter

import reference
import sqlalchemy as sa
from falcon.testing import TestClient

from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.settings.types import Address, Secret
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import DatabaseOptions, Settings
from shipyard_simulators.embedded_postgres import server

ROUNDS = 7
LATEST = "01M7XV7VKPMDHXJVA7WM000100"
V1 = "/api/v1.0"
# Multiples of the reference, which is mostly round trips: they are highest on a machine whose round trips are quick.
BOUNDS = {
    f"{V1}/nodes": 6.0,
    f"{V1}/nodes?limit=1000": 27.0,
    f"{V1}/nodes?status=failure": 60.0,
    f"{V1}/nodes?status=prepared": 60.0,
    f"{V1}/nodes?name=node-09": 30.0,
    f"{V1}/nodes/node-05000": 10.0,
    f"{V1}/nodes/node-05000?limit=100": 30.0,
    f"{V1}/actions/{LATEST}/report": 270.0,
}
FILL = (
    """INSERT INTO actions (id, name, parameters, user_name, context_marker, revision, exclusive, inputs, state,
           started_at, ended_at)
       SELECT '01M7XV7VKPMDHXJVA7WM' || lpad(a::text, 6, '0'), 'deploy_site', '{}', 'ann', '-', 1, true, '{}',
           'success', now(), now()
       FROM generate_series(1, 100) a""",
    """INSERT INTO deployment_groups (action_id, position, name, critical, depends_on, status)
       SELECT id, g, 'group-' || g, true, '{}', 'success' FROM actions, generate_series(0, 99) g""",
    """INSERT INTO action_nodes (action_id, name, status, reason, group_name, groups, updated_at)
       SELECT id, 'node-' || lpad(n::text, 5, '0'), CASE WHEN n % 1000 = 0 THEN 'failure' ELSE 'success' END,
           CASE WHEN n % 1000 = 0 THEN 'deploy' END, 'group-' || n % 100, ARRAY['group-' || n % 100], now()
       FROM actions, generate_series(0, 9999) n""",
    """INSERT INTO group_phases (action_id, group_name, phase, status, job, nodes, submitted_at, ended_at)
       SELECT a.id, 'group-' || g, p, 'success', 'job-' || g || p,
           (SELECT array_agg('node-' || lpad(n::text, 5, '0')) FROM generate_series(g, 9999, 100) n), now(), now()
       FROM actions a, generate_series(0, 99) g, (VALUES ('prepare'), ('deploy')) v(p)""",
    """INSERT INTO journal (action_id, epoch, step_id, kind, at, worker, facts)
       SELECT action_id, 1, 's', kind, now(), 'w', json_build_object('group', group_name, 'phase', phase, 'job', job,
           'status', CASE phase WHEN 'prepare' THEN 'prepared' ELSE 'success' END, 'reason', null, 'nodes', nodes,
           'details', '{}'::json)
       FROM group_phases, (VALUES ('phase_started'), ('nodes_changed')) v(kind)""",
    """INSERT INTO node_changes (action_id, group_name, phase, status, nodes, details, late, at)
       SELECT action_id, group_name, phase, CASE phase WHEN 'prepare' THEN 'prepared' ELSE 'success' END, nodes, '{}',
           false, now()
       FROM group_phases""",
)


def main() -> int:
    exceeded = []
    with server.temporary({"fsync": "off", "synchronous_commit": "off"}) as postgres:
        client = _client(postgres.url)
        phase = reference.Phase(connect(postgres.url, pool_size=1))
        for address, bound in BOUNDS.items():
            path, _, query = address.partition("?")
            times, ratios, size = [], [], 0
            for _ in range(ROUNDS):
                began = perf_counter()
                answer = client.simulate_get(path, query_string=query)
                times.append(perf_counter() - began)
                ratios.append(times[-1] / phase(rounds=5))
                assert answer.status_code == 200, answer.text
                size = len(answer.content)
            seconds, ratio = statistics.median(times), statistics.median(ratios)
            print(f"{address.removeprefix(V1):45} {seconds:6.3f} s  {ratio:6.1f} x  {size:9,} bytes")
            if ratio > bound:
                exceeded.append(f"{address} took {ratio:.1f} times the reference, at most {bound:g}")
    for line in exceeded:
        print(f"TOO MUCH: {line}")
    return 1 if exceeded else 0


def _client(url: str) -> TestClient:
    """Return a client of an API on a database with a history."""
    engine = connect(url, pool_size=2)
    migrations.upgrade(engine, Path(__file__).resolve().parents[1] / "migrations")
    with engine.begin() as connection:
        for statement in FILL:
            connection.execute(sa.text(statement))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE"))
    _, token = ApiTokens(Store(engine, ProcrastinateWakeup())).create("benchmark", "viewer")
    nowhere = DrydockOptions(url=Address("http://127.0.0.1:9/api/v1.0"), design_url="http://127.0.0.1:9/{revision}")
    app = bootstrap.api(Settings(database=DatabaseOptions(url=Secret(url)), of_plugins={"drydock": nowhere}))
    return TestClient(app, headers={"X-Auth-Token": token})


if __name__ == "__main__":
    sys.exit(main())
