"""What the port of a teardown's nodes asks an API server for, and what it makes of odd answers."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from shipyard_api.adapters.kubernetes import evictions
from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesNodes
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.pods import Pod, PodUid
from shipyard_api.ports.cluster import ClusterNode, Eviction, EvictionOutcome, KubeletStopper, NodeDeletion
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from tests.peer import Answer, Peer

N1 = NodeName("n1")
NODE = "/api/v1/nodes/n1"
TOKEN = "s3cret-token"
READ = ClusterNode(N1, "u1", "7", cordoned=False, labels={"rack": "r1"})
PODS = [Pod("ns", f"p{number}", PodUid(f"u{number}")) for number in range(3)]
EVICTION = "POST /api/v1/namespaces/ns/pods/{}/eviction"


def status(code: int, reason: str = "", message: str = "", **details: Any) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Answer(code, body | {"reason": reason, "message": message, "details": details})


def cause(reason: str, message: str = "", field: str = "") -> list[dict[str, str]]:
    return [{"reason": reason, "message": message, "field": field}]


def listed(kind: str, *items: Any) -> Answer:
    return Answer(200, {"kind": kind, "apiVersion": "v1", "metadata": {}, "items": list(items)})


@pytest.fixture
def nodes(peer: Peer) -> Iterator[KubernetesNodes]:
    resource = {"name": "pods/eviction", "group": "policy", "version": "v1"}
    peer.on("GET /api/v1", Answer(200, {"kind": "APIResourceList", "resources": [{"name": "pods"}, resource]}))
    with closing(KubernetesClient(Address(peer.url, token=TOKEN), first_pause=0.0)) as client:
        yield KubernetesNodes(client)


NOT_A_NODE = {
    "a route that does not exist": Answer(404, "404 page not found\n"),
    "a gateway": Answer(404, "<html>"),
    "a status about no object": status(404, "NotFound", "the server could not find the requested resource"),
}


def test_only_the_api_server_can_say_that_a_node_has_gone(peer: Peer, nodes: KubernetesNodes) -> None:
    for answer in NOT_A_NODE.values():
        for method in ("GET", "DELETE"):
            peer.on(f"{method} {NODE}", answer)
        with pytest.raises(Refused):
            nodes.node(N1)
        with pytest.raises(Refused):
            nodes.delete_node(READ)


def test_a_host_name_of_two_nodes_names_none(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(f"GET {NODE}", status(404, "NotFound", name="n1", kind="nodes"))
    peer.on("GET /api/v1/nodes", listed("NodeList", {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}))
    with pytest.raises(Refused, match="2 nodes have the label"):
        nodes.node(NodeName("N1"))
    assert dict(peer.asked("GET /api/v1/nodes")[0].query)["labelSelector"] == "kubernetes.io/hostname=n1"


CHANGES: dict[str, tuple[Answer, bool]] = {
    "changed": (Answer(200, {"kind": "Node"}), True),
    "another version": (status(409, "Conflict", "the object has been modified"), False),
    "another node": (
        status(422, "Invalid", causes=cause("FieldValueInvalid", field="metadata.uid")),
        False,
    ),
    "gone": (status(404, "NotFound", name="n1", kind="nodes"), False),
}


def test_only_the_node_that_was_read_is_changed(peer: Peer, nodes: KubernetesNodes) -> None:
    same = {"resourceVersion": "7", "uid": "u1"}
    for title, (answer, changed) in CHANGES.items():
        peer.requests.clear()
        peer.on(f"PATCH {NODE}", answer)
        assert nodes.remove_labels(READ, ["rack"]) is changed, title
        assert nodes.set_labels(READ, {"a": "b"}) is changed, title
        nodes.cordon(READ)
        assert [one.json for one in peer.asked(f"PATCH {NODE}")] == [
            {"metadata": same | {"labels": {"rack": None}}},
            {"metadata": same | {"labels": {"a": "b"}}},
            {"metadata": {"uid": "u1"}, "spec": {"unschedulable": True}},
        ]


def test_a_change_that_is_invalid_for_another_reason_is_a_failure(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(f"PATCH {NODE}", status(422, "Invalid", causes=cause("FieldValueInvalid", field="metadata.labels")))
    with pytest.raises(Refused):
        nodes.set_labels(READ, {"a": "b"})


def test_what_is_done_already_is_not_asked_for(peer: Peer, nodes: KubernetesNodes) -> None:
    assert nodes.remove_labels(READ, [])
    assert nodes.set_labels(READ, {"rack": "r1"})
    nodes.cordon(ClusterNode(N1, "u1", "7", cordoned=True, labels={}))
    assert nodes.evict([], grace=1) == {}
    nodes.delete_pods([], grace=1)
    assert peer.requests == []


DELETIONS = {
    NodeDeletion.ACCEPTED: Answer(200, {"kind": "Status", "status": "Success"}),
    NodeDeletion.GONE: status(404, "NotFound", name="n1", kind="nodes"),
    NodeDeletion.ANOTHER_NODE: status(409, "Conflict", "the UID in the precondition"),
}


def test_a_node_is_deleted_by_its_uid(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(f"DELETE {NODE}", *DELETIONS.values())
    assert [nodes.delete_node(READ) for _ in DELETIONS] == list(DELETIONS)
    asked = peer.asked(f"DELETE {NODE}")
    assert [one.json["preconditions"] for one in asked] == [{"uid": "u1"}] * len(DELETIONS)


BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."
WANTS = "The disruption budget web needs 2 healthy pods and has 2 currently"
EVICTIONS: dict[str, tuple[Answer, Eviction | None]] = {
    "accepted": (Answer(201, {"kind": "Status", "status": "Success"}), Eviction(EvictionOutcome.ACCEPTED)),
    "accepted with another status": (Answer(200), Eviction(EvictionOutcome.ACCEPTED)),
    "gone": (status(404, "NotFound", name="p0", kind="pods"), Eviction(EvictionOutcome.GONE)),
    "another pod": (
        status(409, "Conflict", "the UID in the precondition (a) does not match the UID in record (b)"),
        Eviction(EvictionOutcome.GONE),
    ),
    "changed just now": (status(409, "Conflict", "the object has been modified"), None),
    "a budget": (
        status(429, "TooManyRequests", BUDGET, causes=cause("DisruptionBudget", WANTS)),
        Eviction(EvictionOutcome.BLOCKED, f"{BUDGET} {WANTS}"),
    ),
    "a budget that is being counted": (
        status(429, "TooManyRequests", BUDGET, retryAfterSeconds=10),
        Eviction(EvictionOutcome.BLOCKED, BUDGET, 10.0),
    ),
    "a busy server": (
        Answer(429, "Too many requests\n", {"Retry-After": "3"}),
        Eviction(EvictionOutcome.BLOCKED, "answered 429 without a reason", 3.0),
    ),
    "a namespace that ends": (
        status(403, "Forbidden", "being terminated", causes=cause("NamespaceTerminating")),
        Eviction(EvictionOutcome.ENDING_WITH_NAMESPACE, "being terminated"),
    ),
    "several budgets": (
        status(500, "", "This pod has more than one PodDisruptionBudget, which is not supported."),
        Eviction(EvictionOutcome.NEVER, "This pod has more than one PodDisruptionBudget, which is not supported."),
    ),
    "an internal error": (status(500, "InternalError", "etcd"), None),
    "an invalid request": (status(400, "BadRequest", "no"), None),
    "half an answer": (Answer(201, b"{}", cut=1), None),
}


def test_each_answer_to_an_eviction_has_its_meaning(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(EVICTION.format("p1"), Answer(201))
    for title, (answer, expected) in EVICTIONS.items():
        peer.on(EVICTION.format("p0"), answer)
        found = nodes.evict(PODS[:2], grace=5)
        assert found == {"u1": Eviction(EvictionOutcome.ACCEPTED)} | ({"u0": expected} if expected else {}), title
    assert peer.asked(EVICTION.format("p0"))[0].json == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p0", "namespace": "ns"},
        "deleteOptions": {"gracePeriodSeconds": 5, "preconditions": {"uid": "u0"}},
    }


def test_a_missing_right_is_an_error_and_ends_the_evictions(peer: Peer, nodes: KubernetesNodes) -> None:
    many = [Pod("ns", "p0", PodUid(str(number))) for number in range(200)]
    for code, told in ((403, "; Shipyard needs the right to create pods/eviction in ns"), (401, "***")):
        peer.requests.clear()
        peer.on(EVICTION.format("p0"), status(code, "", f"no right, Bearer {TOKEN}"))
        with pytest.raises(Refused) as caught:
            nodes.evict(many, grace=5)
        assert TOKEN not in str(caught.value)
        assert len(peer.changes) < 100
        assert caught.value.detail.endswith(told)


def test_if_no_eviction_has_an_answer_that_is_the_error(peer: Peer, nodes: KubernetesNodes) -> None:
    with pytest.raises(Unavailable):
        nodes.evict(PODS, grace=5)
    peer.on(EVICTION.format("p0"), status(422, "Invalid", "no"))
    with pytest.raises(PeerError, match="422"):
        nodes.evict(PODS[:1], grace=5)


def test_evictions_have_a_time_limit_together(
    peer: Peer, nodes: KubernetesNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evictions, "LONGEST", 0.3)
    monkeypatch.setattr(evictions, "AT_ONCE", 2)
    peer.on(EVICTION.format("p0"), Answer(201))
    for name in ("p1", "p2"):
        peer.on(EVICTION.format(name), Answer(hang=True))
    last = Pod("ns", "p3", PodUid("u3"))
    assert nodes.evict([*PODS, last], grace=5) == {"u0": Eviction(EvictionOutcome.ACCEPTED)}
    assert not peer.asked(EVICTION.format("p3"))


def test_pods_are_deleted_by_their_uids_and_those_that_are_gone_are_passed_over(
    peer: Peer, nodes: KubernetesNodes
) -> None:
    path = "DELETE /api/v1/namespaces/ns/pods/{}"
    peer.on(path.format("p0"), status(403, "Forbidden", "no"))
    with pytest.raises(Refused, match="the right to delete pods in ns"):
        nodes.delete_pods(PODS[:1], grace=0)
    peer.on(path.format("p0"), status(404, "NotFound", name="p0", kind="pods"))
    peer.on(path.format("p1"), status(409, "Conflict", "the UID in the precondition"))
    peer.on(path.format("p2"), Answer(200, {"kind": "Pod"}))
    nodes.delete_pods(PODS, grace=0)
    sent = {"gracePeriodSeconds": 0, "preconditions": {"uid": "u2"}}
    assert peer.asked(path.format("p2"))[0].json == {"apiVersion": "v1", "kind": "DeleteOptions"} | sent
    assert len(peer.changes) == 4
    peer.on(path.format("p0"), status(403, "Forbidden", "its rights are not loaded yet"))
    with pytest.raises(Unavailable, match="not loaded yet; it granted this a moment ago, so it may be restarting"):
        nodes.delete_pods(PODS, grace=0)


def test_budgets_are_read_in_the_newest_known_version(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(f"GET {NODE}", Answer(200, {"metadata": {"name": "n1", "uid": "u1", "resourceVersion": "7"}}))
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
    peer.on(f"GET {lease}", status(404, "NotFound", name="n1", kind="leases"))
    peer.on("GET /api/v1/pods", listed("PodList"))
    peer.on("GET /apis/apps/v1/daemonsets", listed("DaemonSetList"))
    peer.on("GET /apis/policy", Answer(200, {"versions": [{"groupVersion": "policy/v2"}]}))
    with pytest.raises(Unavailable, match="PodDisruptionBudgets"):
        nodes.look(N1)
    path = "GET /apis/policy/v1/poddisruptionbudgets"
    peer.on(path, status(403, "Forbidden", "no"))
    both = [{"groupVersion": version} for version in ("policy/v1beta1", "policy/v1")]
    peer.on("GET /apis/policy", Answer(200, {"versions": both}))
    with pytest.raises(Refused, match=r"the right to list poddisruptionbudgets\.policy"):
        nodes.look(N1)
    peer.on(path, listed("PodDisruptionBudgetList", {"metadata": {"name": "b"}}))
    with pytest.raises(Unavailable, match="sent -/b, which cannot be read: an object without namespace"):
        nodes.look(N1)
    peer.on(path, listed("PodDisruptionBudgetList"))
    assert nodes.look(N1).server_time.tzinfo is not None


def absent(name: str, kind: str = "nodes") -> Answer:
    return status(404, "NotFound", name=name, kind=kind)


def of_name(**metadata: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "uid": "u1", "resourceVersion": "7", **metadata}}


def test_a_node_is_found_by_its_name_else_by_the_label_of_its_host(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(f"GET {NODE}", absent("n1"))
    peer.on("GET /api/v1/nodes", listed("NodeList"))
    assert (nodes.node(N1), nodes.look(N1)) == (None, None)
    peer.on("GET /api/v1/nodes/n1.lab", Answer(200, of_name(name="n1.lab")))
    leases = "GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    peer.on(f"{leases}/n1.lab", absent("n1.lab", "leases"))
    found = ClusterNode(NodeName("n1.lab"), "u1", "7", cordoned=False, labels={})
    for entry, expected in ((of_name(name="n1.lab"), found), (of_name(), None), (of_name(name=""), None), ({}, None)):
        peer.on("GET /api/v1/nodes", listed("NodeList", entry))
        if expected:
            assert nodes.node(NodeName("N1")) == expected
        else:
            with pytest.raises(Unavailable, match="a node without name"):
                nodes.node(N1)
    peer.requests.clear()
    assert [nodes.node(NodeName(name)) for name in ("", "..", "-n1", "n1-", "a" * 254)] == [None] * 5
    assert peer.requests == []


def test_a_label_goes_with_the_change_of_scheduling(peer: Peer, nodes: KubernetesNodes) -> None:
    peer.on(f"PATCH {NODE}", Answer(200, {"kind": "Node"}))
    nodes.cordon(READ, label="ours")
    nodes.uncordon(READ, label="ours")
    assert [one.json for one in peer.asked(f"PATCH {NODE}")] == [
        {"metadata": {"uid": "u1", "labels": {"ours": "cordoned"}}, "spec": {"unschedulable": True}},
        {"metadata": {"uid": "u1", "labels": {"ours": None}}, "spec": {"unschedulable": None}},
    ]


def test_what_stops_kubelets_is_found_with_its_pod_on_the_node(peer: Peer, nodes: KubernetesNodes) -> None:
    waits = {"spec": {"template": {"spec": {"nodeSelector": {"promenade-decomission": "enabled"}}}}}
    owner = {"kind": "DaemonSet", "name": "stop", "controller": True}
    pod = {"metadata": {**of_name(name="p")["metadata"], "ownerReferences": [owner]}, "status": {"phase": "Running"}}
    peer.on("GET /apis/apps/v1/daemonsets", listed("DaemonSetList", of_name(name="a"), of_name(name="stop") | waits))
    peer.on("GET /api/v1/pods", listed("PodList", pod))
    peer.on("GET /api/v1/nodes", listed("NodeList"))
    for answer, phase in ((Answer(200, of_name(name="n1")), "Running"), (absent("n1"), "")):
        peer.on(f"GET {NODE}", answer)
        assert nodes.kubelet_stopper(N1) == KubeletStopper("ns", "stop", phase)
    assert [dict(one.query)["fieldSelector"] for one in peer.asked("GET /api/v1/pods")] == ["spec.nodeName=n1"]


@pytest.mark.parametrize("code", [401, 403])
def test_a_missing_right_is_an_error_though_another_pod_has_an_answer(
    peer: Peer, nodes: KubernetesNodes, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(evictions, "AT_ONCE", 1)
    peer.on(EVICTION.format("p0"), absent("p0", "pods"))
    peer.on(EVICTION.format("p1"), EVICTIONS["changed just now"][0])
    peer.on(EVICTION.format("p2"), status(code, "Forbidden", "no"))
    with pytest.raises(Refused, match=str(code)):
        nodes.evict(PODS, grace=5)


def test_a_deletion_without_an_answer_is_the_error_after_the_others(peer: Peer, nodes: KubernetesNodes) -> None:
    path = "DELETE /api/v1/namespaces/ns/pods/{}"
    peer.on(path.format("p1"), Answer(200, {"kind": "Pod"}))
    with pytest.raises(Unavailable):
        nodes.delete_pods(PODS[:2], grace=0)
    assert peer.asked(path.format("p1"))


VERSIONS = [("policy", "v1", "policy/v1"), ("policy", "v1beta1", "policy/v1beta1"), ("policy", "v3", "policy/v1")]


def test_evictions_have_the_version_that_the_api_server_offers(peer: Peer, nodes: KubernetesNodes) -> None:
    pods = {"name": "pods", "group": "policy", "version": "v1beta1"}
    peer.on(EVICTION.format("p0"), Answer(201))
    for group, version, _ in VERSIONS:
        offered = {"name": "pods/eviction", "group": group, "version": version}
        peer.on("GET /api/v1", Answer(200, {"kind": "APIResourceList", "resources": [7, pods, offered]}))
        nodes.evict(PODS[:1], grace=5)
    assert [one.json["apiVersion"] for one in peer.asked(EVICTION.format("p0"))] == [sent for *_, sent in VERSIONS]
    peer.on("GET /api/v1", Answer(200, {"kind": "APIResourceList", "resources": [pods]}))
    with pytest.raises(Unavailable, match="it has no evictions of pods"):
        nodes.evict(PODS[:1], grace=5)
