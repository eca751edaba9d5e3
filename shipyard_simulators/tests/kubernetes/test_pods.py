"""Pods, evictions and kubelets over HTTP."""

import pytest

from shipyard_simulators.tests.kubernetes.client import AT_ONCE, Cluster, Start


@pytest.mark.parametrize(
    ("version", "policy", "refused"), [("1.20", "v1beta1", "policy/v1"), ("1.31", "v1", "policy/v9")]
)
def test_evictions_and_budgets_have_the_version_of_the_cluster(
    start: Start, version: str, policy: str, refused: str
) -> None:
    cluster = start(version=version)
    cluster.add("n1")
    pods = "/api/v1/namespaces/ns/pods"
    sent = {"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    assert cluster.call("POST", pods, json=sent).json()["status"] == {"phase": "Pending"}
    assert cluster.fault("POST", pods, json=sent)[:2] == (409, "AlreadyExists")
    assert cluster.get("/apis/policy")["versions"] == [{"groupVersion": f"policy/{policy}", "version": policy}]
    [eviction] = [each for each in cluster.get("/api/v1")["resources"] if each["name"] == "pods/eviction"]
    assert eviction["version"] == policy
    wanted = {"kind": "Eviction", "deleteOptions": {"gracePeriodSeconds": 9}}
    assert cluster.fault("POST", f"{pods}/p/eviction", json=wanted | {"apiVersion": refused})[0] == 400
    assert cluster.call("POST", f"{pods}/p/eviction", json=wanted | {"apiVersion": f"policy/{policy}"}).ok
    assert cluster.get(f"{pods}/p")["metadata"]["deletionGracePeriodSeconds"] == 9
    assert cluster.call("DELETE", f"{pods}/p?gracePeriodSeconds=0").ok
    assert cluster.fault("POST", f"{pods}/p/eviction", json=wanted | {"apiVersion": f"policy/{policy}"})[0] == 404


def test_pods_of_all_namespaces_are_listed_by_their_node_in_pages(cluster: Cluster) -> None:
    cluster.add("n1")
    items = [
        {"kind": "Pod", "metadata": {"namespace": f"ns{number % 2}", "name": f"p{number}"}, "spec": {"nodeName": "n1"}}
        for number in range(3)
    ]
    cluster.control("POST", "objects", {"items": items})
    query = {"fieldSelector": "spec.nodeName=n1", "limit": 2}
    first = cluster.get("/api/v1/pods", **query)
    second = cluster.get("/api/v1/pods", **query, **{"continue": first["metadata"]["continue"]})
    found = [each["metadata"]["name"] for page in (first, second) for each in page["items"]]
    assert (first["kind"], found) == ("PodList", ["p0", "p2", "p1"])
    assert cluster.get("/api/v1/pods", fieldSelector="spec.nodeName=n2")["items"] == []
    assert len(cluster.get("/api/v1/namespaces/ns0/pods")["items"]) == 2


def test_the_kubelet_of_a_node_can_be_stopped_and_started(start: Start) -> None:
    cluster = start(f"{AT_ONCE.removesuffix('}')}, lose_nodes: 0}}", nodes=["n1"])
    cluster.control("PUT", "nodes/n1/kubelet", {"running": False})
    assert cluster.ready("n1") == "Unknown"
    cluster.control("PUT", "nodes/n1/kubelet", {"running": True})
    assert cluster.ready("n1") == "True"
    assert cluster.call("PUT", "/simulator/nodes/n1/kubelet", json={}).status_code == 400
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
    assert cluster.get(lease)["spec"]["holderIdentity"] == "n1"
