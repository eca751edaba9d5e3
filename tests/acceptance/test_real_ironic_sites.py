"""Whole sites through a real Ironic: the three worked examples of seed 000, and a hundred nodes of which some fail.

Runs where the environment names an Ironic with the demo interfaces (``tests/real_ironic.py``); nodes are removed again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from shipyard_simulators.etcd import simulator as etcd
from shipyard_simulators.kubernetes import simulator as kubernetes
from shipyard_simulators.kubernetes.manifests import ordinary
from tests import real_ironic
from tests.conftest import ROOT
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.real_ironic import call, remove
from tests.stand import Stand
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(not real_ironic.URL, reason="IRONIC_URL names no real Ironic to deploy a site with")

FAILS_PREPARE, FAILS_DEPLOY = "deploy.erase_devices_metadata", "deploy.write_image"
# A site's second lasts so long: fake hardware is quick, and Ironic itself is not.
SCALE = 0.05

CONTROL, COMPUTE_1, COMPUTE_2, MONITORING, NTP = (
    "control-nodes",
    "compute-nodes-1",
    "compute-nodes-2",
    "monitoring-nodes",
    "ntp-node",
)


class Ironic:
    """The real service, asked past our adapter; ``prefix`` keeps the nodes of one test apart from all others."""

    def __init__(self) -> None:
        self.prefix = f"t{uuid.uuid4().hex[:6]}-"
        self.names: list[str] = []

    def enrol(self, names: Sequence[str], failing: Mapping[str, str]) -> None:
        """Make the nodes known; some fail in the step that is named."""
        for name in names:
            extra = {"demo_fail": [failing[name]]} if name in failing else {}
            call("POST", "/v1/nodes", {"driver": "fake-hardware", "name": name, "extra": extra})
            self.names.append(name)

    def states(self) -> dict[str, str]:
        """How the nodes of this test stand."""
        nodes = call("GET", "/v1/nodes?fields=name,provision_state")["nodes"]
        return {one["name"]: one["provision_state"] for one in nodes if one["name"] in self.names}

    def remove(self) -> None:
        remove(self.names)


@pytest.fixture
def ironic() -> Iterator[Ironic]:
    real = Ironic()
    yield real
    real.remove()


@pytest.fixture
def stand(tmp_path: Path, database_url: str) -> Iterator[Stand]:
    settings = real_ironic.settings() | {"SHIPYARD_IRONIC_CONNECT_TIMEOUT_SECONDS": "0.2"}
    with Stand(tmp_path, database_url, scale=SCALE, settings=settings) as started:
        started.start("worker")
        yield started


def five_groups(prefix: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The design of the worked examples with its nodes renamed, and their names."""
    path = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
    documents = [one for one in yaml.safe_load_all(path.read_text()) if one]
    names = []
    for one in documents:
        if one["schema"] == "drydock/BaremetalNode/v1":
            one["metadata"]["name"] = prefix + one["metadata"]["name"]
            names.append(one["metadata"]["name"])
        if one["schema"] == "shipyard/DeploymentStrategy/v1":
            for selector in (each for group in one["data"]["groups"] for each in group["selectors"]):
                selector["node_names"] = [prefix + name for name in selector["node_names"]]
    return documents, names


def deploy(stand: Stand, documents: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Commit and deploy the site; return the verdict, and each group's status and reason."""
    stand.commit(yaml.safe_dump_all(documents).encode())
    action = stand.deploy_site()
    ended = stand.wait(action)
    return ended["verdict"], {one["name"]: (one["status"], one["reason"]) for one in stand.listing(action, "groups")}


def test_a_server_is_redeployed(tmp_path: Path, database_url: str, ironic: Ironic) -> None:
    """Real Ironic, simulated Kubernetes and etcd: the server is drained, leaves, is torn down, deployed, and joins."""
    names = [f"{ironic.prefix}n{number}" for number in (1, 2, 3)]
    node, prepared = names[0], ("active", "available")
    ironic.enrol(names, {})
    with ExitStack() as running:
        members = running.enter_context(etcd.running(names=names))
        cluster = running.enter_context(kubernetes.running(nodes=names, time_scale=SCALE))
        url = {"SHIPYARD_KUBERNETES_URL": cluster.url, "SHIPYARD_IRONIC_CONNECT_TIMEOUT_SECONDS": "0.2"}
        stand = running.enter_context(Stand(tmp_path, database_url, scale=SCALE, settings=real_ironic.settings() | url))
        stand.start("worker")
        clusters = {"clusters": [{"name": "kubernetes", "endpoints": list(members.endpoints)}]}
        documents = [
            layering_policy(),
            *map(node_document, names),
            strategy_document(group_entry("all", selectors=[{"node_names": names}])),
            document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", {"armada": {"manifest": "m"}}),
            document("promenade/EtcdClusters/v1", "etcd-clusters", clusters),
        ]
        verdict, _ = deploy(stand, documents)
        assert verdict == "success"
        cluster.add(*ordinary(len(names)))

        body = {"name": "redeploy_server", "parameters": {"target_nodes": node}}
        answer = stand.request("POST", "/actions", json=body)
        assert answer.status_code == 201, answer.text
        action, seen = str(answer.json()["id"]), ["active"]

        def ended() -> bool:
            state = ironic.states()[node]
            if state != seen[-1] and state in prepared:
                seen.append(state)
            if seen == ["active", "available", "active"]:
                cluster.join(node)
            return stand.action(action)["verdict"] is not None

        until(ended, lambda: stand.action(action), every=0.1)
        assert stand.action(action)["verdict"] == "success", stand.action(action)

    changed = ("node_changed", "kubelet_stopped", "node_removed", "node_joined", "pod_ended")
    told = [one["event"] for one in cluster.events() if one.get("node") == node and one["event"] in changed]
    assert told[0] == "node_joined"
    order = [one for one in dict.fromkeys(told[1:]) if one != "pod_ended"]
    assert order == ["node_changed", "kubelet_stopped", "node_removed", "node_joined"]
    assert [told.count(one) for one in ("kubelet_stopped", "node_removed", "node_joined")] == [1, 1, 2]
    evicted = [one["path"] for one in cluster.events() if str(one.get("path")).endswith("/eviction")]
    assert len(evicted) == len(set(evicted)) >= 1
    assert [one["status"] for one in members.events() if one["path"].endswith("/member/remove")] == [200]
    assert ironic.states() == dict.fromkeys(names, "active")


def test_second_example_a_critical_group_fails_in_prepare(stand: Stand, ironic: Ironic) -> None:
    documents, names = five_groups(ironic.prefix)
    ntp = f"{ironic.prefix}ntp01"
    ironic.enrol(names, {ntp: FAILS_PREPARE})

    verdict, groups = deploy(stand, documents)

    assert verdict == "failed"
    assert groups == {
        NTP: ("failed", "prepare"),
        CONTROL: ("failed", "dependency"),
        COMPUTE_1: ("failed", "dependency"),
        COMPUTE_2: ("failed", "dependency"),
        MONITORING: ("success", None),
    }
    states = ironic.states()
    assert states.pop(ntp) == "clean failed"
    untouched = [name for name in states if "mon" not in name]
    assert {states[name] for name in untouched} == {"enroll"}
    assert {states[name] for name in states.keys() - set(untouched)} == {"active"}


# What recipes/ironic_demo_steps gives fake hardware (contract: Ironic deploy templates, 15).
DEMO_STEPS = {
    "deploy": {
        "demo": [
            {"step": "boot_instance", "priority": 20},
            {"step": "deploy", "priority": 100, "core": True},
            {"step": "prepare_instance_boot", "priority": 60},
            {"step": "switch_to_tenant_network", "priority": 30},
            {"step": "tear_down_agent", "priority": 40},
            {"step": "write_image", "priority": 80},
        ]
    },
    "bios": {"demo": [{"step": "apply_configuration", "args": {"settings": True}}, {"step": "factory_reset"}]},
    "raid": {
        "demo": [{"step": "apply_configuration", "args": {"raid_config": True}}, {"step": "delete_configuration"}]
    },
}
CONFIG = "CUSTOM_BM_CONFIG"
MIRROR = [f"{CONFIG}_BIOS_VMX_ON", f"{CONFIG}_RAID_DISK_MIRROR"]
STRIPE = [f"{CONFIG}_BIOS_VMX_OFF", f"{CONFIG}_RAID_DISK_STRIPE"]


def raid(level: str, priority: int) -> dict[str, Any]:
    disks = [{"size_gb": "MAX", "raid_level": level, "is_root_volume": True}]
    args = {"raid_config": {"logical_disks": disks}}
    return {"interface": "raid", "step": "apply_configuration", "args": args, "priority": priority}


def bios(value: str, priority: int) -> dict[str, Any]:
    args = {"settings": [{"name": "VMX", "value": value}]}
    return {"interface": "bios", "step": "apply_configuration", "args": args, "priority": priority}


def plain(interface: str, step: str, priority: int) -> dict[str, Any]:
    return {"interface": interface, "step": step, "args": {}, "priority": priority}


# Seed 003, Example. One flavor has ties, the other disables a default step and runs one between two others.
TEMPLATES = {
    MIRROR[0]: [bios("On", 120), plain("bios", "factory_reset", 130)],
    MIRROR[1]: [plain("raid", "delete_configuration", 120), raid("1", 110)],
    STRIPE[0]: [bios("Off", 90), plain("deploy", "switch_to_tenant_network", 0)],
    STRIPE[1]: [raid("0", 110)],
}


def ran(name: str, kind: str = "deploy") -> list[tuple[str, Any]]:
    """The deploy or service steps that Ironic ran on a node, in order, with the arguments that a template gave."""
    lines = [json.loads(line) for line in Path(real_ironic.STEP_LOG).read_text().splitlines()]
    mine = [one for one in lines if (one["name"], one["kind"]) == (name, kind) and "erase" not in one["step"]]
    return [
        (one["step"], {key: one["args"][key] for key in ("settings", "raid_config") if key in one["args"]})
        for one in mine
    ]


@pytest.mark.skipif(not real_ironic.STEP_LOG, reason="IRONIC_STEP_LOG names no file to read the steps from")
def test_templates_of_seed_003_run_in_the_order_of_the_plan(tmp_path: Path, database_url: str, ironic: Ironic) -> None:
    names = [f"{ironic.prefix}n{number}" for number in range(4)]
    ironic.enrol(names, {})
    file = tmp_path / "deploy-steps.json"
    file.write_text(json.dumps(DEMO_STEPS))
    more = {"SHIPYARD_IRONIC_CONNECT_TIMEOUT_SECONDS": "0.2", "SHIPYARD_IRONIC_DEPLOY_STEPS_FILE": str(file)}
    traits = "shipyard/NodeTraits/v1"
    documents = [
        layering_policy(),
        *map(node_document, names),
        strategy_document(group_entry("all", selectors=[{"node_names": names}])),
        document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", {"armada": {"manifest": "m"}}),
        document(traits, "pool", {"selectors": [], "traits": [*TEMPLATES, f"{CONFIG}_OTHER"]}),
        document(traits, "mirror", {"selectors": [{"node_names": names[:2]}], "requested_traits": MIRROR}),
        document(traits, "stripe", {"selectors": [{"node_names": names[2:3]}], "requested_traits": STRIPE}),
    ]
    with Stand(tmp_path, database_url, scale=SCALE, settings=real_ironic.settings() | more) as stand:
        for name, steps in TEMPLATES.items():
            templates(stand, "POST", "", {"name": name, "steps": steps})
        stand.commit(yaml.safe_dump_all(documents).encode())
        plan = stand.request("POST", "/plans", json={"name": "deploy_site"}).json()
        action = stand.deploy_site()
        # Frozen: what becomes of a template after the action was created changes nothing.
        change = [{"op": "replace", "path": "/steps", "value": [raid("6", 5)]}]
        templates(stand, "PATCH", f"/{MIRROR[1]}", change)
        stand.start("worker")
        assert stand.wait(action)["verdict"] == "success"
        offered = stand.request("GET", f"/nodes/{names[0]}/deploy-steps").json()

    planned = {
        name: [(f"{step['interface']}.{step['step']}", step["args"]) for step in one["steps"]]
        for one in plan["deploy_steps"]
        for name in one["nodes"]
    }
    assert {name: ran(name) for name in names} == planned
    assert [step for step, _ in planned[names[0]]][:5] == [
        "bios.factory_reset",
        "bios.apply_configuration",
        "raid.delete_configuration",
        "raid.apply_configuration",
        "deploy.deploy",
    ]
    assert "deploy.switch_to_tenant_network" not in dict(planned[names[2]])
    # The last node's deployment requests nothing, so it runs the steps that the server offers with a priority.
    default = [f"{one['interface']}.{one['step']}" for one in offered["steps"] if one["priority"]]
    assert [step for step, _ in planned[names[3]]] == default


@pytest.mark.skipif(not real_ironic.STEP_LOG, reason="IRONIC_STEP_LOG names no file to read the steps from")
def test_ten_servers_run_service_steps_group_by_group_while_workers_are_killed(
    tmp_path: Path, database_url: str, ironic: Ironic
) -> None:
    """Real Ironic with the interface of ``.ci/ironic_service_steps``, simulated Kubernetes; one server fails."""
    names = [f"{ironic.prefix}n{number}" for number in range(10)]
    control, compute = names[:4], names[4:]
    ironic.enrol(names, {compute[0]: "bios.apply_configuration"})
    for name in names:
        call("PATCH", f"/v1/nodes/{name}", [{"op": "replace", "path": "/bios_interface", "value": "service"}])
    documents = [
        layering_policy(),
        *map(node_document, names),
        strategy_document(
            group_entry("control", critical=True, selectors=[{"node_names": control}]),
            group_entry(
                "compute",
                depends_on=["control"],
                selectors=[{"node_names": compute}],
                success_criteria={"minimum_successful_nodes": 5},
            ),
        ),
        document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", {"armada": {"manifest": "m"}}),
    ]
    file = tmp_path / "deploy-steps.json"
    file.write_text(json.dumps({"bios": {"service": DEMO_STEPS["bios"]["demo"]}}))
    more = {"SHIPYARD_IRONIC_CONNECT_TIMEOUT_SECONDS": "0.2", "SHIPYARD_IRONIC_DEPLOY_STEPS_FILE": str(file)}
    with ExitStack() as running:
        cluster = running.enter_context(kubernetes.running(nodes=names, time_scale=SCALE))
        more |= real_ironic.settings() | {"SHIPYARD_KUBERNETES_URL": cluster.url}
        stand = running.enter_context(Stand(tmp_path, database_url, scale=SCALE, settings=more))
        stand.start("worker")
        verdict, _ = deploy(stand, documents)
        assert verdict == "success"
        steps = [bios("On", 20), plain("bios", "factory_reset", 10)]
        templates(stand, "POST", "", {"name": "CUSTOM_SERVICE", "steps": steps})

        body = {"name": "service_server", "parameters": {"template": "CUSTOM_SERVICE"}}
        plan = stand.request("POST", "/plans", json=body).json()
        answer = stand.request("POST", "/actions", json=body)
        assert answer.status_code == 201, answer.text
        action = str(answer.json()["id"])
        for count, group in ((1, control), (len(control) + 1, compute)):
            # Killed as soon as Ironic runs the first steps of a group.
            until(lambda count=count: sum(bool(ran(name, "service")) for name in names) >= count)
            stand.kill("worker")
            assert not [name for name in compute if group is control and ran(name, "service")]
            stand.start("worker")
        assert stand.wait(action)["verdict"] == "success"
        groups = {one["name"]: one["status"] for one in stand.listing(action, "groups")}
        nodes = {one["name"]: one["status"] for one in stand.listing(action, "nodes")}

    assert [one["node"] for one in plan["drains"]] == names
    assert groups == {"control": "success", "compute": "success"}
    assert nodes == {**dict.fromkeys(names, "success"), compute[0]: "failure"}
    both = [("bios.apply_configuration", {"settings": [{"name": "VMX", "value": "On"}]}), ("bios.factory_reset", {})]
    assert {name: ran(name, "service") for name in names} == {**dict.fromkeys(names, both), compute[0]: both[:1]}
    assert ironic.states() == {**dict.fromkeys(names, "active"), compute[0]: "service failed"}
    changed = [one for one in cluster.events() if one["event"] == "node_changed"]
    assert {one["node"] for one in changed} == set(names)


def templates(stand: Stand, method: str, path: str, body: Any) -> None:
    headers = {"X-Auth-Token": stand.token, "X-OpenStack-Ironic-API-Version": "1.55"}
    url = f"{stand.url}/v1/deploy_templates{path}"
    answer = requests.request(method, url, json=body, headers=headers, timeout=PATIENCE)
    assert answer.ok, answer.text


def test_a_hundred_nodes_in_ten_groups_of_which_some_fail(stand: Stand, ironic: Ironic) -> None:
    documents, _ = five_groups(ironic.prefix)
    documents = [one for one in documents if one["schema"] != "drydock/BaremetalNode/v1"]
    template = {"schema": "metadata/Document/v1", "storagePolicy": "cleartext"}
    layering = {"layeringDefinition": {"abstract": False, "layer": "site"}}
    names = [f"{ironic.prefix}{number:03}" for number in range(100)]
    for number, name in enumerate(names):
        metadata = {**template, **layering, "name": name}
        data = {"metadata": {"tags": [f"group-{number % 10}"], "rack": "rack01"}}
        documents.append({"schema": "drydock/BaremetalNode/v1", "metadata": metadata, "data": data})
    [strategy] = [one for one in documents if one["schema"] == "shipyard/DeploymentStrategy/v1"]
    strategy["data"]["groups"] = [
        {
            "name": f"group-{index}",
            "critical": index == 0,
            "depends_on": [f"group-{index - 2}"] if index > 1 else [],
            "selectors": [{"node_tags": [f"group-{index}"]}],
            "success_criteria": {"percent_successful_nodes": 80},
        }
        for index in range(10)
    ]
    # Group 3 misses its criteria, and with it fail 5, 7 and 9; one node of group 4 and one of group 6 do not matter.
    failing = {names[number]: FAILS_DEPLOY for number in (3, 13, 23)}
    failing |= {names[4]: FAILS_PREPARE, names[16]: FAILS_DEPLOY}
    ironic.enrol(names, failing)

    verdict, groups = deploy(stand, documents)

    assert verdict == "success"
    assert {name: status for name, (status, _) in groups.items() if status == "failed"} == dict.fromkeys(
        ("group-3", "group-5", "group-7", "group-9"), "failed"
    )
    assert groups["group-3"] == ("failed", "deploy")
    assert groups["group-5"] == ("failed", "dependency")
    states = ironic.states()
    expected = {
        name: "enroll" if number % 10 in (5, 7, 9) else "active"
        for number, name in enumerate(names)
        if name not in failing
    }
    assert {name: states[name] for name in expected} == expected
    assert {states[name] for name, step in failing.items() if step == FAILS_DEPLOY} == {"deploy failed"}
