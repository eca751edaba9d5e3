"""A site in process before simulators of everything: a provisioner, Kubernetes and etcd, over HTTP, in one time."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.request import Request, urlopen

import yaml

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.frozen_software import FrozenSoftware
from shipyard_api.actions.protection import ReadProtection
from shipyard_api.actions.site_checks import ActionDesigns, RemoteAccess, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.adapters.etcd.gateway import EtcdGateway
from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.domain.actions import ENDED, ActionName, RunState, StepId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.domain.teardown.labels import CORDONED_KEY, SERVICE_CORDONED_KEY
from shipyard_api.domain.teardown_progress import teardowns
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.workflow.turn import Engine
from shipyard_simulators.etcd.simulator import EtcdSimulator
from shipyard_simulators.kubernetes.manifests import ordinary
from shipyard_simulators.kubernetes.simulator import KubernetesSimulator
from shipyard_simulators.scenario import Scenario
from tests.databases import empty
from tests.factories import document, group_entry
from tests.near_peers import near, near_members
from tests.one_action import seconds_until_due, state_of, steps_of
from tests.simulated_peers import PEERS, Event, scenario, time_of
from tests.simulated_world import SimulatedWorld, Site
from tests.virtual_time import VirtualClock
from tests.world import SCHEMAS, Checkpoints, Watched

NODES = ("n1", "n2", "n3")
ETCD = "kubernetes-etcd"
CONTROL_AND_COMPUTE = [
    group_entry(
        "control",
        critical=True,
        selectors=[{"node_names": ["n1"]}],
        success_criteria={"percent_successful_nodes": 100},
    ),
    group_entry(
        "compute",
        depends_on=["control"],
        selectors=[{"node_names": ["n2", "n3"]}],
        success_criteria={"minimum_successful_nodes": 1},
    ),
]
# Short: each further poll costs a test its turn, and shows nothing new.
DURATIONS = {
    "prepare_nodes": 20,
    "deploy_nodes": 30,
    "destroy_nodes": 10,
    "full_erase": 20,
    "join_nodes": 20,
    "ready_nodes": 20,
    "stop_pods": 3,
}
_STEP = 0.001  # seconds: no two calls happen at the same moment, so that the logs of all peers have one order


@dataclass
class Ticks(Checkpoints):
    """Lets a moment pass before each call over the wire."""

    clock: VirtualClock = field(kw_only=True)

    def passed(self, name: str) -> None:
        if name.startswith("before") and name != "before commit":
            self.clock.advance(_STEP)
        super().passed(name)


@dataclass
class RedeployWorld(SimulatedWorld):
    """Three servers that are deployed and run pods; each has an etcd member. A machine that is deployed joins, and so
    does its member.

    ``connected``: whether Kubernetes is configured, as far as new actions know.
    """

    apiserver: KubernetesSimulator = field(kw_only=True)
    members: EtcdSimulator = field(kw_only=True)
    running: ExitStack = field(kw_only=True)
    connected: bool = True
    with_members: Sequence[str] = NODES
    since: datetime = field(default=datetime.min, init=False)
    _joined: int = field(default=0, init=False)

    @classmethod
    def deployed(
        cls,
        url: str,
        peer: str = "ironic",
        groups: Sequence[Mapping[str, Any]] = (),
        *,
        protected: bool = True,
        names: Sequence[str] = NODES,
        members: Sequence[str] = NODES,
        hardware: Mapping[str, Mapping[str, Any]] | None = None,
        site: Callable[[Scenario], Site] | None = None,
        **fates: Any,
    ) -> RedeployWorld:
        """Return a world whose site an action has just deployed, in one group or in these.

        ``protected``: whether the design names etcd and genesis yet; ``protect`` does. ``members``: the nodes that have
        one of the etcd cluster. ``hardware``: as of a scenario. ``site``: returns the site, in place of one made from
        ``groups`` and ``names``; the document of its etcd cluster is added.
        """
        empty(url)
        clock, running = VirtualClock(), ExitStack()
        played = scenario(fates, DURATIONS, hardware=hardware)
        etcd = running.enter_context(near_members(EtcdSimulator(names=tuple(members), clock=clock.of_peers())))
        apiserver = running.enter_context(near(KubernetesSimulator(played, clock=clock.of_peers())))
        genesis = document(GENESIS, "genesis", {"hostname": "n0"})
        further = [_etcd(etcd), genesis] if protected else []
        groups = groups or [group_entry("all", selectors=[{"node_names": list(names)}])]
        made = Site({name: {"labels": {"rack": f"r-{name}"}} for name in names}, played, groups, further=further)
        if site is not None:
            made = replace(site(played), further=[_etcd(etcd)])
        make = partial(PEERS[peer])
        world = cls(
            url,
            clock=clock,
            site=made,
            make_peer=make,
            apiserver=apiserver,
            members=etcd,
            running=running,
            with_members=members,
        )
        world.run(world.worker())
        assert world.state() is RunState.SUCCESS, world.told()
        apiserver.add(*ordinary(len(names)))
        for name in names:
            world.label(name, openstack="enabled")
        clock.advance(60)  # pods start
        return world

    @property
    def rules(self) -> DesignRules:
        limits = self.peer.provisioner(lambda _revision: None).capabilities.limits  # type: ignore[arg-type, return-value]
        return DesignRules(SCHEMAS.check, cluster=self.connected, limits=limits, drains=self.connected)

    def check_etcd(self, rendered: RenderedDesigns) -> CheckEtcd:
        client = KubernetesClient(Address(self.apiserver.url), first_pause=0.0)
        self.running.callback(client.close)
        protection = ReadProtection(ActionDesigns(rendered._designs, rendered.of), self.rules)
        return CheckEtcd(protection, KubernetesCluster(client).nodes, EtcdGateway())

    def create(self, name: ActionName, **parameters: Any) -> None:
        """Create an action; it is the one that ``run`` works on."""
        definitions = self.definitions(Checkpoints())
        check = self.check()
        identity = f"{next(_numbers):026}"
        create = CreateAction(self.store(), check, definitions, lambda: identity, self.freeze)
        request = ActionRequest(name, parameters, None)
        self.since = self.clock.now()
        self.action = create(request, Caller("tester", frozenset({"admin"}), str(uuid.uuid4()))).action.id
        self.make_due()

    def freeze(self, name: ActionName, revision: Revision | None, written: JsonObject) -> FrozenSoftware | None:
        """Return what an action freezes of the task graph."""

    def leave(self, *nodes: str) -> None:
        """Commit the design without these servers."""
        rest = [name for name in self.site.nodes if name not in nodes]
        self.site = replace(self.site, nodes={name: self.site.nodes[name] for name in rest})
        self._commit([group_entry("all", selectors=[{"node_names": rest}])])

    def protect(self) -> None:
        """Commit the design with its etcd cluster, and deploy nothing."""
        self.site = replace(self.site, further=[_etcd(self.members)])
        self._commit([group_entry("all", selectors=[{"node_names": list(NODES)}])])

    def fates(self, **fates: Any) -> None:
        """Let the provisioner do this to nodes from now on."""
        played = yaml.safe_dump({"nodes": fates, "durations": DURATIONS}).encode()
        self.peer._call("POST", f"{self.peer.url}/simulator/scenario", played)

    def retry(self, *, force: bool = False) -> None:
        """Retry the action; the new one is the one that ``run`` works on."""
        # Ids sort in order of creation, as those of the product.
        identity = f"{next(_numbers):026}"
        control = ControlAction(self.store(), self.definitions(Checkpoints()), lambda: identity)
        caller = Caller("tester", frozenset({"admin"}), str(uuid.uuid4()))
        self.action = control.retry(self.action, caller, force=force).id
        self.make_due()

    def nodes(self) -> Mapping[str, NodeRecord]:
        """Return each node of the action, by name."""
        with self.store().begin() as tx:
            found = tx.actions.nodes(self.action, status=(), group=(), after="", limit=100)
        return {one.name: one for one in found}

    def newest(self, node: str) -> str:
        """Return what the newest action that worked on a node made of it."""
        with self.store().begin() as tx:
            found = tx.nodes.last(node)
        return found.node.status.value if found else ""

    def label(self, node: str, **labels: str) -> None:
        """Set labels, as an operator does."""
        body = json.dumps({"metadata": {"labels": labels}}).encode()
        headers = {"Content-Type": "application/merge-patch+json"}
        with urlopen(Request(f"{self.apiserver.url}/api/v1/nodes/{node}", body, headers, method="PATCH")):
            pass

    def refuse_at_kubernetes(self, status: int | None) -> None:
        """Let the API server answer every request with this status, as one that is starting does; None: no more."""
        fault = {"method": "*", "path": "*", "action": "error", "status": status}
        body = json.dumps([fault] if status else []).encode()
        with urlopen(Request(f"{self.apiserver.url}/simulator/faults", body, method="POST")):
            pass

    def teardown_waits(self) -> Sequence[str]:
        """Return what the nodes that are taken down wait for, as the API shows it."""
        with self.store().begin() as tx:
            at_work = teardowns(tx.journal.entries(self.action))
        return [reason for one in at_work for reason in one.waits_for]

    def ticks(self, chosen: int, happens: Callable[[], None]) -> Ticks:
        """Return the checkpoints of a worker, at one of which something happens."""
        return Ticks(chosen, happens, clock=self.clock)

    def worker(self, points: Checkpoints | None = None) -> Engine:  # type: ignore[override]
        """Return a worker whose adapters remember nothing."""
        found: Engine = super().worker(points or Ticks(clock=self.clock))
        return found

    def definitions(self, points: Checkpoints, store: Any = None) -> Any:
        client = KubernetesClient(Address(self.apiserver.url), first_pause=0.0)
        self.running.callback(client.close)
        kubernetes, designs = KubernetesCluster(client), self.designs()
        access = RemoteAccess(Watched(self.tasks, points), self.reach) if self.tasks else None  # type: ignore[arg-type]  # fills the port
        systems = Systems(
            Watched(self.provisioner, points, frozenset({"design_reference"})),  # type: ignore[arg-type]  # fills the port
            Watched(kubernetes, points),  # type: ignore[arg-type]  # fills the port by delegation
            None,
            Watched(kubernetes.nodes, points),  # type: ignore[arg-type]  # fills the port by delegation
            Watched(EtcdGateway(), points),  # type: ignore[arg-type]  # fills the port by delegation
            access=access,
        )
        rendered = ActionDesigns(designs, self.rendered().of)
        return catalog(store or self.store(), rendered, systems, self.rules, RetryPolicy(300, 10))

    def run(self, worker: Engine, each_time: Callable[[], None] = lambda: None) -> None:
        """Deliver turns and runs of items, each when it is due, until the action has ended."""
        for _ in range(2000):
            each_time()
            worker.run(self.action)
            worker.items.run(self.action, "run-1")
            self._let_join()
            if self.state() in ENDED:
                return
            self.clock.advance(self.pause())
        raise AssertionError(f"the action does not end\n{self.told()}")

    def pause(self) -> float:
        """Seconds until an item or the action is due."""
        return seconds_until_due(self.engine(), self.action, self.clock.now())

    def state(self) -> RunState:
        return state_of(self.store(), self.action)

    def steps(self) -> Mapping[StepId, tuple[str, str]]:
        """State and detail of each step."""
        return steps_of(self.store(), self.action)

    def story(self) -> list[str]:
        """Return what became of nodes since the action was created, by the logs of all peers, in the order of time."""
        told = [(one.at, f"{one.phase} {one.node}") for one in (*self.peer.begun(), *self.peer.destroyed())]
        told += [(time_of(event), what) for event in self.apiserver.events() if (what := _of_kubernetes(event))]
        removed = (event for event in self.members.events() if event["path"].endswith("/member/remove"))
        told += [(time_of(event), f"member removed: {event['status']}") for event in removed]
        return [what for at, what in sorted(told) if at > self.since]

    def close(self) -> None:
        super().close()
        self.running.close()

    def _let_join(self) -> None:
        deployed = [one for one in self.peer.ended() if one.phase == "deploy" and one.ok and not one.skipped]
        for one in deployed[self._joined :]:
            self.apiserver.join(one.node)
            if one.node in self.with_members:
                self.members.put(one.node)
        self._joined = len(deployed)


_CORDONS = {SERVICE_CORDONED_KEY, CORDONED_KEY}


def _etcd(members: EtcdSimulator) -> dict[str, Any]:
    """Return the document that names the cluster."""
    cluster = {"name": ETCD, "endpoints": list(members.endpoints)}
    return document(ETCD_CLUSTERS, "etcd-clusters", {"clusters": [cluster]})


def _of_kubernetes(event: Event) -> str:
    """Return what an event of Kubernetes means to a node or a pod, empty if nothing."""
    match event:
        case {"event": "node_changed", "labels": {"promenade-decomission": "enabled"}, "node": node}:
            return f"to stop its kubelet {node}"
        case {"event": "node_changed", "labels": labels, "node": node} if labels and (own := labels.keys() - _CORDONS):
            return f"{'set' if any(labels.values()) else 'cleared'} {', '.join(sorted(own))} {node}"
        case {"event": "node_changed", "cordoned": cordoned, "node": node}:
            return f"{'cordoned' if cordoned else 'uncordoned'} {node}"
        case {"event": "request", "method": "POST", "path": str(path), "status": status} if path.endswith("/eviction"):
            return f"evicted {path.split('/')[-2].partition('-')[0]}: {status}"
        case {"event": "kubelet_stopped" | "node_removed" | "node_joined" as what, "node": node}:
            return f"{what.replace('_', ' ')} {node}"
        case {"event": "node_reported", "status": "True", "node": node}:
            return f"ready {node}"
    return ""


_numbers = itertools.count(1)
