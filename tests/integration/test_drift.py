"""Changes made by hand behind Shipyard's back, before simulated peers: each is found, and nothing else is."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import pytest

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.settings import Wanted
from shipyard_api.domain.errors import NoSiteAction
from shipyard_api.domain.holds import HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.drift.find import Drift, FindDrift, Since
from shipyard_api.usecases.drift.observe import ObserveNodes
from shipyard_simulators.kubernetes.simulator import KubernetesSimulator
from tests.factories import group_entry
from tests.near_peers import near
from tests.one_action import state_of
from tests.refusals import refuses
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import SimulatedWorld, Site
from tests.waiting import PATIENCE

NODES = [f"n{number}" for number in range(1, 21)]
LABELS = {"rack": "r1", "role": "compute"}
MERGE = "application/merge-patch+json"


def call(method: str, url: str, body: Any = None, kind: str = "application/json") -> None:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": kind, "X-OpenStack-Ironic-API-Version": "1.80"}
    with urlopen(Request(url, data, headers, method=method), timeout=PATIENCE):
        pass


VT = DeployStep(Interface.BIOS, "apply_configuration", {"settings": [{"name": "vt", "value": "on"}]}, 150)
STEPS = dict.fromkeys(map(NodeName, NODES), (TemplateStep(TraitName("CUSTOM_VT"), VT),))
VERSIONS = {"bios": Wanted("2.1", "runbook=firmware-2026")}
FIRMWARE = dict.fromkeys(map(NodeName, NODES), VERSIONS)


@dataclass
class Hands:
    """A site that was deployed and sighted, and what an operator can do to it without Shipyard."""

    world: SimulatedWorld
    apiserver: KubernetesSimulator
    closing: ExitStack

    @classmethod
    def on(cls, url: str, peer: str) -> Hands:
        closing = ExitStack()
        durations = {"join_nodes": 20, "ready_nodes": 20, "lose_nodes": 40}
        played = scenario({}, durations)
        groups = [group_entry("all", selectors=[{"node_names": NODES}])]
        site = Site({name: {"labels": LABELS} for name in NODES}, played, groups)
        world = SimulatedWorld.in_emptied(url, site=site, make_peer=PEERS[peer])
        closing.callback(world.close)
        apiserver = closing.enter_context(near(KubernetesSimulator(played, clock=world.clock.of_peers())))
        return cls(world, apiserver, closing)

    def deploy(self) -> None:
        """Deploy the site, let nodes join, and sight them."""
        self.world.run(self.world.worker())
        assert state_of(self.world.store(), self.world.action) is RunState.SUCCESS, self.world.told()
        self.apiserver.join(*NODES)
        self.world.clock.advance(60)
        for name in NODES:
            self.node(name, {"metadata": {"labels": LABELS}})
            if self.world.peer.name == "ironic":
                self.bios(name, vt="on", other="any")
                self.firmware(name, bios="2.1", bmc="7")
        assert self.sight() == len(NODES)
        assert self.sight() == 0

    @property
    def cluster(self) -> KubernetesCluster:
        client = KubernetesClient(Address(self.apiserver.url), first_pause=0.0)
        self.closing.callback(client.close)
        return KubernetesCluster(client)

    def sight(self) -> int:
        rendered = RenderedDesigns(self.world.designs())
        return ObserveNodes(
            self.world.store(),
            self.world.provisioner,
            self.cluster,
            lambda revision: rendered.inventory(Revision(revision)),
            self.world.clock.now,
            60.0,
        )()

    def drift(self, since: Since = Since.SUCCESSFUL_SITE_ACTION) -> Drift:
        rendered = RenderedDesigns(self.world.designs())
        machines = lambda revision: rendered.inventory(Revision(revision))  # noqa: E731  # as in the wiring
        store, provisioner = self.world.store(), self.world.provisioner
        return FindDrift(store, provisioner, self.cluster, machines, lambda _: STEPS, lambda _: FIRMWARE)(since)

    def found(self) -> list[tuple[str, str]]:
        return [(one.node, one.kind.value) for rows in self.drift().differences.values() for one in rows]

    # MAAS

    def maas(self, node: str, operation: str, **fields: str) -> None:
        client = self.world.provisioner._client  # type: ignore[attr-defined]
        client.operate(self._machine(node), operation, [("comment", "by hand"), *fields.items()])

    def delete(self, node: str) -> None:
        self.world.provisioner._client.delete_machine(self._machine(node))  # type: ignore[attr-defined]

    def rename(self, node: str, name: str) -> None:
        client = self.world.provisioner._client  # type: ignore[attr-defined]
        client._signed("PUT", f"machines/{self._machine(node)}/", body=f"hostname={name}".encode())

    def enlist(self, node: str) -> None:
        call("POST", f"{self.world.peer.url}/simulator/machines", [{"hostname": node, "status": "Deployed"}])

    def _machine(self, node: str) -> str:
        client = self.world.provisioner._client  # type: ignore[attr-defined]
        (found,) = client.machines({node})
        return str(found["system_id"])

    # Ironic

    def ironic(self, node: str, target: str, **further: Any) -> None:
        reply = self.world.provisioner._client.provision(node, {"target": target, **further})  # type: ignore[attr-defined]
        assert reply.status == 202, reply

    def patch(self, node: str, path: str, value: Any) -> None:
        change = {"op": "add", "path": path, "value": value}
        reply = self.world.provisioner._client.patch(node, [change])  # type: ignore[attr-defined]
        assert reply.status == 200, reply

    def bios(self, node: str, **settings: str) -> None:
        call("PUT", f"{self.world.peer.url}/simulator/nodes/{node}/bios", settings)

    def firmware(self, node: str, **versions: str) -> None:
        call("PUT", f"{self.world.peer.url}/simulator/nodes/{node}/firmware", versions)

    def power_off(self, node: str) -> None:
        self.world.provisioner._client.power(node, "power off")  # type: ignore[attr-defined]

    def remove(self, node: str) -> None:
        self.ironic(node, "deleted")
        self.world.clock.advance(7200)
        reply = self.world.provisioner._client.remove(node)  # type: ignore[attr-defined]
        assert reply.status == 204, reply

    def enrol(self, node: str) -> None:
        call("POST", f"{self.world.peer.url}/v1/nodes", {"name": node, "driver": "fake-hardware"})
        call("PUT", f"{self.world.peer.url}/simulator/nodes/{node}", {"provision_state": "active"})

    # Kubernetes

    def node(self, node: str, change: Mapping[str, Any], part: str = "") -> None:
        call("PATCH", f"{self.apiserver.url}/api/v1/nodes/{node}{part}", change, MERGE)

    def unregister(self, node: str) -> None:
        call("DELETE", f"{self.apiserver.url}/api/v1/nodes/{node}")

    def report(self, node: str, status: str) -> None:
        call("PUT", f"{self.apiserver.url}/simulator/nodes/{node}/ready", {"status": status})

    def pass_time(self, seconds: float) -> None:
        self.world.clock.advance(seconds)


def redeployed_in_maas(site: Hands, node: str) -> None:
    site.maas(node, "release")
    site.pass_time(3600)
    site.maas(node, "deploy")


def replaced_in_ironic(site: Hands, node: str) -> None:
    site.remove(node)
    site.enrol(node)


def redeployed_in_ironic(site: Hands, node: str) -> None:
    site.ironic(node, "deleted")
    site.pass_time(7200)
    site.patch(node, "/instance_info", {"image_source": "http://images.example.org/os.qcow2"})
    site.ironic(node, "active")


def replaced_in_maas(site: Hands, node: str) -> None:
    site.delete(node)
    site.enlist(node)


def registered_anew(site: Hands, node: str) -> None:
    site.unregister(node)
    site.apiserver.join(node)
    site.pass_time(60)
    site.node(node, {"metadata": {"labels": LABELS}})


# What is done to a node each, in this order, and what must be found. The last two of MAAS and of Ironic go on then.
CHANGES: dict[str, list[tuple[str, Callable[[Hands, str], object], str]]] = {
    "maas": [
        ("deleted", lambda site, node: site.delete(node), "vanished"),
        ("released", lambda site, node: site.maas(node, "release"), "released"),
        ("released and deployed again", redeployed_in_maas, "reinstalled"),
        ("deleted, and another has its name", replaced_in_maas, "replaced"),
        ("renamed", lambda site, node: site.rename(node, "elsewhere"), "renamed"),
        ("powered off", lambda site, node: site.maas(node, "power_off"), "powered-off"),
        ("marked as broken", lambda site, node: site.maas(node, "mark_broken"), "out-of-service"),
        ("in rescue mode", lambda site, node: site.maas(node, "rescue_mode"), "out-of-service"),
        ("being deployed again", redeployed_in_maas, "reinstalled"),
        ("being erased", lambda site, node: site.maas(node, "release", erase="true"), "released"),
    ],
    "ironic": [
        ("removed", lambda site, node: site.remove(node), "vanished"),
        ("undeployed", lambda site, node: site.ironic(node, "deleted"), "released"),
        ("undeployed and deployed again", redeployed_in_ironic, "reinstalled"),
        ("rebuilt", lambda site, node: site.ironic(node, "rebuild"), "reinstalled"),
        ("removed, and another has its name", replaced_in_ironic, "replaced"),
        ("renamed", lambda site, node: site.patch(node, "/name", "elsewhere"), "renamed"),
        ("powered off", lambda site, node: site.power_off(node), "powered-off"),
        ("another setting", lambda site, node: site.bios(node, vt="off", other="new"), "settings"),
        ("a setting is gone", lambda site, node: site.bios(node, other="any"), "settings"),
        ("an older BIOS", lambda site, node: site.firmware(node, bios="2.0", bmc="8"), "firmware"),
        ("rescued", lambda site, node: site.ironic(node, "rescue", rescue_password="x"), "out-of-service"),
        ("being rebuilt", lambda site, node: site.ironic(node, "rebuild"), "reinstalled"),
        ("being cleaned", lambda site, node: site.ironic(node, "deleted"), "released"),
    ],
    "kubernetes": [
        ("unregistered", lambda site, node: site.unregister(node), "missing"),
        ("kubelet stopped", lambda site, node: site.apiserver.stop_kubelet(node), "not-ready"),
        ("not ready", lambda site, node: site.report(node, "False"), "not-ready"),
        ("unheard of", lambda site, node: site.report(node, "Unknown"), "not-ready"),
        ("cordoned", lambda site, node: site.node(node, {"spec": {"unschedulable": True}}), "cordoned"),
        ("label changed", lambda site, node: site.node(node, {"metadata": {"labels": {"rack": "r9"}}}), "labels"),
        ("label removed", lambda site, node: site.node(node, {"metadata": {"labels": {"rack": None}}}), "labels"),
        ("all removed", lambda site, node: site.node(node, {"metadata": {"labels": dict.fromkeys(LABELS)}}), "labels"),
        ("registered anew", registered_anew, "replaced"),
        (
            "another system",
            lambda site, node: site.node(node, {"status": {"nodeInfo": {"machineID": "another"}}}, "/status"),
            "reinstalled",
        ),
    ],
}


@pytest.fixture
def site(request: pytest.FixtureRequest, database_url: str) -> Iterator[Hands]:
    found = Hands.on(database_url, request.param)
    with found.closing:
        yield found


def test_thirty_three_changes_are_tried() -> None:
    assert sum(map(len, CHANGES.values())) == 33


@pytest.mark.parametrize(
    ("site", "changed"),
    [("maas", ["kubernetes", "maas"]), ("ironic", ["ironic"]), ("drydock", [])],
    ids=["maas and kubernetes", "ironic", "drydock"],
    indirect=["site"],
)
def test_what_was_changed_by_hand_is_found_and_nothing_else(site: Hands, changed: list[str]) -> None:
    site.deploy()
    site.pass_time(86_400)
    assert (site.found(), site.drift().unanswered, site.drift().compared) == ([], [], len(NODES))

    changes = dict(zip(NODES, [change for peer in changed for change in CHANGES[peer]], strict=False))
    for number, (node, (_, change, _)) in enumerate(changes.items(), 3):
        change(site, node)
        if number <= len(changes):
            site.pass_time(3600)

    assert sorted(site.found()) == sorted((node, kind) for node, (_, _, kind) in changes.items())


@pytest.mark.parametrize("site", ["maas"], indirect=True)
def test_our_own_work_is_no_drift_and_a_peer_that_does_not_answer_is_named(site: Hands) -> None:
    with refuses(NoSiteAction):
        site.drift(Since.LAST_SITE_ACTION)
    site.deploy()
    with site.world.store().begin() as tx:
        revision = tx.actions.get(site.world.action).revision
        name, parameters = ActionName("relabel_nodes"), {"target_nodes": ["n4"]}
        own = ActionId("7" + "A" * 25)
        tx.actions.create(NewAction(own, name, parameters, "ann", str(uuid.uuid4()), revision, None, {}, [StepId("x")]))
    site.node("n4", {"metadata": {"labels": {"rack": "r2"}}})
    assert (site.sight(), site.found()) == (0, [])
    with site.world.store().begin() as tx:
        claim = tx.turns.claim(own, now=site.world.clock.now(), worker="w")
        tx.turns.end_action(claim, RunState.SUCCESS, now=site.world.clock.now())
    assert (site.sight(), site.found()) == (1, [])
    with site.world.store().begin() as tx:
        tx.holds.place(NewHold(NodeName("n2"), HoldKind.OPERATOR, "disk", "ann", None))
    site.node("n2", {"spec": {"unschedulable": True}})
    queued = ActionId("7" + "Z" * 25)
    parameters = {"target_nodes": "n1", "target-revision": "committed"}
    with site.world.store().begin() as tx:
        tx.actions.create(
            NewAction(
                queued,
                ActionName("redeploy_server"),
                parameters,
                "ann",
                str(uuid.uuid4()),
                None,
                None,
                {},
                [StepId("work")],
            )
        )
    site.maas("n1", "release")
    site.maas("n3", "release")

    assert site.found() == [("n3", "released")]
    assert site.drift().skipped == {"n1": queued}

    site.world.peer.play([{"action": "error"}])
    found = site.drift()
    assert [one.system for one in found.unanswered] == ["MAAS"]
    assert found.differences == {"design": [], "Kubernetes": []}
