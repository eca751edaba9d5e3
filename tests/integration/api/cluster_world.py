"""The API in this process with a Kubernetes and an etcd in memory, and a worker that a test runs when it wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from falcon.testing import ASGIConductor, Result

from shipyard_api.api.http import waiting
from shipyard_api.api.http.waiting import EndedActions
from shipyard_api.api.mount import Mount
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.storage import tables as t
from shipyard_api.wiring import bootstrap, parts
from shipyard_api.wiring.settings import Settings
from shipyard_api.workflow.turn import Engine
from tests.factories import document
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.fakes.etcd import FakeEtcd
from tests.integration.api.wire import JSON, V1, Site, configuration, small_design
from tests.teardown_world import ETCD, pod

MOST = 60
HREF = "deckhand+https://deckhand.example.org/api/v1.0/revisions/{}/rendered-documents"


def reference(revision: Any = 1) -> dict[str, str]:
    """A design reference, as the seed writes it."""
    return {"rel": "design", "href": HREF.format(revision), "type": "application/x-yaml"}


@dataclass
class Programs:
    """One API and one worker, on the same peers; both outlive the tests."""

    app: Mount
    ends: EndedActions
    worker: Engine
    cluster: FakeClusterNodes
    etcd: FakeEtcd
    clock: FakeClock

    def reset(self) -> None:
        """Three servers, each with two pods and an etcd member."""
        self.cluster.__init__(self.clock.now)  # type: ignore[misc]  # as new
        self.etcd.__init__()  # type: ignore[misc]  # as new
        self.etcd.form(ETCD, "n1", "n2", "n3")
        for name in ("n1", "n2", "n3"):
            self.cluster.add(name, pod(f"{name}-a"), pod(f"{name}-b"), labels={"openstack": "enabled"})


@contextmanager
def programs(settings: Settings) -> Iterator[Programs]:
    """Start them with fakes in place of the peers."""
    # Actions are due at the database's time; this clock is ahead of it, so everything is.
    clock = FakeClock(datetime.now(UTC) + timedelta(days=1))
    cluster, etcd = FakeClusterNodes(clock.now), FakeEtcd()
    ends: list[EndedActions] = []

    def readiness(nodes: Collection[NodeName]) -> dict[NodeName, ObservedMember]:
        return {node: ObservedMember(ready=True, joined=cluster.node(node) is not None) for node in nodes}

    def end(*arguments: Any) -> EndedActions:
        ends.append(EndedActions(*arguments, most=MOST, seconds=0.02))
        return ends[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.clusters, "cluster", lambda _settings: SimpleNamespace(nodes=cluster, readiness=readiness))
        patch.setattr(parts, "EtcdGateway", lambda: etcd)
        patch.setattr(waiting, "EndedActions", end)
        app = bootstrap.api(settings)
        made = parts.build(settings)
        worker = Engine(made.store, parts.definitions(made), clock, settle=1.0, worker="worker-1")
    yield Programs(app, ends[-1], worker, cluster, etcd, clock)


@dataclass
class ClusterWorld:
    """A site whose revision 1 is committed, with an etcd cluster."""

    site: Site
    programs: Programs
    database: sa.Engine

    def commit(self, **sections: Any) -> int:
        """Commit the design, with more sections of its configuration, and return its revision."""
        cluster = {"name": ETCD, "endpoints": ["http://10.0.0.2:2379"]}
        clusters = document("promenade/EtcdClusters/v1", "etcd-clusters", {"clusters": [cluster]})
        return self.site.commit(configuration(**sections), *small_design()[1:], clusters)

    def post(self, node: str, operation: str, body: Any = None, **query: Any) -> Result:
        """Call an operation that is refused, so that no worker is needed."""
        sent = None if body is None else body if isinstance(body, str | bytes) else json.dumps(body)
        names = {name.replace("_", "-"): value for name, value in query.items()}
        query_string = urlencode(names, doseq=True)
        return self.site.admin.ask(
            "POST", f"{V1}/nodes/{node}/{operation}", query=query_string, body=sent, headers=JSON if sent else {}
        )

    def actions(self) -> list[Any]:
        """All actions, unlisted ones too, in order."""
        with self.database.connect() as connection:
            return list(connection.execute(sa.select(t.actions).order_by(t.actions.c.id)))

    def run(self, action: str) -> None:
        """Deliver turns and items until the action has ended."""
        clock, worker = self.programs.clock, self.programs.worker
        for _ in range(500):
            worker.run(ActionId(action))
            worker.items.run(ActionId(action), "run-1")
            with self.site.store.begin() as tx:
                record = tx.actions.get(ActionId(action))
            assert record is not None
            if record.state in ENDED:
                return
            clock.advance(5)
        raise AssertionError("the action does not end")

    def call(self, node: str, operation: str, body: Any = None, **query: Any) -> Result:
        """Call an operation, run the worker to its end, and return the answer."""
        return asyncio.run(self._call(node, operation, body, query))

    async def _call(self, node: str, operation: str, body: Any, query: Any) -> Result:
        request = asyncio.create_task(self.ask(node, operation, body, **query))
        action = await self.begun(request)
        if action:
            await asyncio.to_thread(self.run, action)
        return await request

    async def ask(self, node: str, operation: str, body: Any = None, **query: Any) -> Result:
        """Send the call in this event loop."""
        conductor = ASGIConductor(self.programs.app, headers=self.site.admin.client.headers)
        names = {name.replace("_", "-"): value for name, value in query.items()}
        return await conductor.simulate_request(
            "POST", f"{V1}/nodes/{node}/{operation}", params=names, json=body, headers={}
        )

    async def begun(self, request: asyncio.Task[Result] | None = None, *, known: Collection[str] = ()) -> str:
        """Return the newest running action once there is another than the ``known``; empty if the request ended before.

        A request that is left earlier may begin its action as late as in another test.
        """
        while True:
            found = [one.id for one in await asyncio.to_thread(self.actions) if one.state not in ("success", "failed")]
            if found := [one for one in found if one not in known]:
                return str(found[-1])
            if request is not None and request.done():
                return ""
            await asyncio.sleep(0.01)

    async def attached(self, callers: int) -> None:
        """Return as soon as so many callers of this event loop wait for the end of their action.

        A caller who comes when it has ended begins another one, which no worker would end.
        """
        waiting = self.programs.ends._waiting
        while sum(map(len, waiting.get(asyncio.get_running_loop(), {}).values())) < callers:
            await asyncio.sleep(0.01)

    def state(self, action: str) -> RunState:
        with self.site.store.begin() as tx:
            record = tx.actions.get(ActionId(action))
        assert record is not None
        assert record.name == ActionName("node_operation")
        return record.state
