"""The rights of etc/kubernetes/shipyard-rbac.yaml are those of the requests that the adapter sends, and no other."""

from contextlib import ExitStack
from itertools import product
from pathlib import Path

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient, Right, needed_right
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_simulators.kubernetes import simulator as kubernetes_simulator
from tests.contract.cluster_node_sites import RBAC, STOPPER, NodeSite, manifests, session


def granted() -> set[Right]:
    """Return the rights of the manifest; those of a Role are in its namespace."""
    return {
        Right(verb, resource, group, manifest["metadata"].get("namespace", ""))
        for manifest in manifests(RBAC)
        for rule in manifest.get("rules", ())
        for verb, resource, group in product(rule["verbs"], rule["resources"], rule["apiGroups"])
    }


def anywhere(right: Right) -> Right:
    """Return the right to the same in any namespace, except for leases, which are all in one."""
    return right if right.resource == "leases" else Right(right.verb, right.resource, right.group)


def test_the_manifest_grants_what_our_calls_need_and_no_more() -> None:
    with ExitStack() as cleanup:
        simulator = cleanup.enter_context(kubernetes_simulator.running())
        site = NodeSite(simulator.url, session(), Address(simulator.url), cleanup)
        node = site.add_node("n1", labels={"rack": "r1"})
        site.add_pod(node, "a")
        before = len(simulator.events())
        client = KubernetesClient(Address(simulator.url))
        cleanup.callback(client.close)
        cluster = KubernetesCluster(client)
        nodes = cluster.nodes
        cluster.readiness([node])
        nodes.node(site.name("none"))
        look = nodes.look(node)
        assert look is not None
        nodes.kubelet_stopper(node)
        nodes.cordon(look.node)
        nodes.remove_labels(look.node, ["rack"])
        nodes.set_labels(look.node, {"a": "b"})
        nodes.evict(look.pods, grace=30)
        nodes.delete_pods(look.pods, grace=0)
        nodes.delete_node(look.node)
        sent = [event for event in simulator.events()[before:] if event["event"] == "request"]
    used = {anywhere(right) for one in sent if (right := needed_right(one["method"], one["path"]))}
    assert used == granted()


def test_every_role_is_bound_to_the_service_account() -> None:
    documents = manifests(RBAC)
    roles = {(one["kind"], one["metadata"].get("namespace")) for one in documents if "rules" in one}
    bound = {(one["roleRef"]["kind"], one["metadata"].get("namespace")) for one in documents if "roleRef" in one}
    assert roles == bound
    accounts = [one["subjects"] for one in documents if "subjects" in one]
    assert accounts == [[{"kind": "ServiceAccount", "name": "shipyard", "namespace": "shipyard"}]] * 2


def test_the_kubelet_stopper_runs_where_the_label_is_and_talks_to_nobody() -> None:
    account, daemon_set = manifests(STOPPER)
    spec = daemon_set["spec"]["template"]["spec"]
    assert (spec["nodeSelector"], spec["tolerations"]) == (
        {"promenade-decomission": "enabled"},
        [{"operator": "Exists"}],
    )
    assert (account["automountServiceAccountToken"], spec["automountServiceAccountToken"]) == (False, False)
    assert spec["serviceAccountName"] == account["metadata"]["name"]
    assert spec["hostPID"]
    assert "volumes" not in spec
    [container] = spec["containers"]
    assert "ports" not in container
    assert "systemctl disable kubelet && systemctl stop kubelet" in container["command"][-1]


def test_the_manifests_are_beside_the_other_samples() -> None:
    assert sorted(each.name for each in Path(RBAC).parent.iterdir()) == [STOPPER.name, RBAC.name]
