"""The Kubernetes simulator against the API it speaks: plain HTTP, no adapter of ours between."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from shipyard_simulators.kubernetes.simulator import KubernetesSimulator, running
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, refusal

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0  # seconds; nothing takes that long, it only ends a test that would hang
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
BY_CONTROL = "nodes: {'*': {join: never}}"
AT_ONCE = "durations: {join_nodes: 0, ready_nodes: 0}"


class Cluster:
    """A client of a running simulator that knows nothing but paths."""

    def __init__(self, simulator: KubernetesSimulator) -> None:
        self.simulator = simulator

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        prefix = "/api/v1" if path.startswith("/nodes") else ""
        return HTTP.request(method, f"{self.simulator.url}{prefix}{path}", timeout=PATIENCE, **options)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fault(self, method: str, path: str, **options: Any) -> tuple[int, str, str]:
        """Return code, reason and message of the Status that a request ends in."""
        answer = self.call(method, path, **options)
        status = answer.json()
        assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
        assert status["code"] == answer.status_code
        return answer.status_code, status.get("reason", ""), status["message"]

    def names(self, **query: Any) -> list[str]:
        return [node["metadata"]["name"] for node in self.get("/nodes", **query)["items"]]

    def add(self, name: str, **metadata: Any) -> Any:
        answer = self.call("POST", "/nodes", json={"metadata": {"name": name, **metadata}})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def ready(self, name: str) -> str:
        return str(self.condition(name)["status"])

    def condition(self, name: str, kind: str = "Ready") -> Any:
        [found] = [each for each in self.get(f"/nodes/{name}")["status"]["conditions"] if each["type"] == kind]
        return found

    def control(self, method: str, path: str, body: Any = None) -> None:
        answer = self.call(method, f"/simulator/{path}", json=body)
        assert answer.ok, answer.text


@pytest.fixture
def start() -> Iterator[Callable[..., Cluster]]:
    """Return what starts a simulator that plays a scenario file of that text; all are stopped after the test."""
    with ExitStack() as cleanup:
        yield lambda text=BY_CONTROL, **options: Cluster(
            cleanup.enter_context(running(parse_scenario(text), **options))
        )


@pytest.fixture
def cluster(start: Callable[..., Cluster]) -> Cluster:
    """A cluster that nodes join only when they are told to."""
    return start()


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Joining


def test_nodes_join_after_their_time_and_are_ready_after_some_more(start: Callable[..., Cluster]) -> None:
    cluster = start("durations: {join_nodes: 100, ready_nodes: 20}", time_scale=0.01, nodes=["n1", "N2"])
    assert cluster.names() == []
    wait_for(lambda: cluster.names() == ["n1", "n2"])
    wait_for(lambda: cluster.ready("n1") == cluster.ready("n2") == "True")
    log = cluster.get("/simulator/log", node="n1")
    assert [each["event"] for each in log] == ["node_joined", "node_reported"]


def test_what_happened_while_nobody_looked_happened_at_its_time(start: Callable[..., Cluster]) -> None:
    cluster = start("durations: {join_nodes: 10, ready_nodes: 10}", time_scale=0.01, nodes=["n1"])
    time.sleep(0.4)
    joined, reported = cluster.simulator.events()
    passed = datetime.fromisoformat(reported["time"]) - datetime.fromisoformat(joined["time"])
    assert passed.total_seconds() == pytest.approx(0.1, abs=0.001)


def test_a_node_joins_not_ready_with_the_words_of_a_kubelet(start: Callable[..., Cluster]) -> None:
    cluster = start("durations: {join_nodes: 0}\nnodes: {n1: {ready: never}}", nodes=["n1"])
    said = cluster.condition("n1")
    assert (said["status"], said["reason"]) == ("False", "KubeletNotReady")
    assert "cni plugin not initialized" in said["message"]


def test_ready_is_the_fourth_condition_and_the_last_one_only_of_some(start: Callable[..., Cluster]) -> None:
    cluster = start(AT_ONCE, nodes=[f"n{number}" for number in range(8)])
    orders = {tuple(each["type"] for each in node["status"]["conditions"]) for node in cluster.get("/nodes")["items"]}
    usual = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    assert orders == {usual, (*usual, "NetworkUnavailable")}


def test_outcomes_are_those_of_the_scenario_or_of_the_name(start: Callable[..., Cluster]) -> None:
    text = f"{AT_ONCE}\nnodes: {{n1: {{join: never}}, n2: {{ready: never}}, n3: {{join: ok, seconds: 600}}}}"
    cluster = start(text, nodes=["n1", "n2", "n3", "n4", "n5-never-join", "n6-never-ready", "n7-slow-join"])
    assert cluster.names() == ["n2", "n4", "n6-never-ready", "n7-slow-join"]
    found = {name: cluster.ready(name) for name in cluster.names()}
    assert found == {"n2": "False", "n4": "True", "n6-never-ready": "False", "n7-slow-join": "True"}


def test_a_slow_node_takes_ten_times_as_long(start: Callable[..., Cluster]) -> None:
    cluster = start("durations: {join_nodes: 100}\nnodes: {n1: {join: slow}}", nodes=["n1", "n2"])
    due = {name: each["next"]["at"] for name, each in cluster.get("/simulator/nodes").items()}
    moments = {name: datetime.fromisoformat(at) for name, at in due.items()}
    assert (moments["n1"] - moments["n2"]).total_seconds() == pytest.approx(900, abs=1)


def test_a_node_that_flaps_is_ready_and_lost_in_turn(start: Callable[..., Cluster]) -> None:
    cluster = start("nodes: {n1: {ready: flaps, seconds: 5}}", time_scale=0.01)
    cluster.control("POST", "nodes/n1/join")
    wait_for(lambda: len(cluster.get("/simulator/log", node="n1")) >= 5)
    answered = [each["status"] for each in cluster.get("/simulator/log", node="n1") if each["event"] == "node_reported"]
    assert answered[:4] == ["True", "Unknown", "True", "Unknown"]
    wait_for(lambda: cluster.ready("n1") == "Unknown")


def test_of_a_lost_node_nothing_is_known(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1/ready", {"status": "Unknown"})
    conditions = cluster.get("/nodes/n1")["status"]["conditions"]
    answered = {each["type"]: (each["status"], each["reason"]) for each in conditions}
    answered.pop("NetworkUnavailable", None)
    assert set(answered.values()) == {("Unknown", "NodeStatusUnknown")}


def test_time_is_counted_from_when_a_node_is_expected(start: Callable[..., Cluster]) -> None:
    cluster = start("durations: {join_nodes: 600}")
    time.sleep(0.1)
    asked_at = time.time()
    cluster.control("PUT", "nodes/N1")
    following = cluster.get("/simulator/nodes")["n1"]["next"]
    assert following["what"] == "join"
    assert datetime.fromisoformat(f"{following['at']}+00:00").timestamp() >= asked_at + 600


# Control


def test_a_node_joins_when_it_is_told_to_whatever_its_outcome(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1")
    assert cluster.get("/simulator/nodes")["n1"] == {
        "in_cluster": False,
        "outcomes": {"join": "never", "ready": "ok"},
        "next": None,
    }
    for _ in range(2):
        cluster.control("POST", "nodes/n1/join")
        assert cluster.names() == ["n1"]


def test_a_node_says_what_it_is_told_to_until_it_is_told_otherwise(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1/ready")
    assert cluster.ready("n1") == "True"
    cluster.control("PUT", "nodes/n1/ready", {"status": "False", "reason": "Disk", "message": "it is full"})
    said = cluster.condition("n1")
    assert (said["status"], said["reason"], said["message"]) == ("False", "Disk", "it is full")


def test_the_outcomes_of_a_node_can_be_set_while_it_runs(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1", {"join": "ok", "ready": "ok", "seconds": 0})
    assert cluster.ready("n1") == "True"
    cluster.control("PUT", "nodes/n1", {"ready": "flaps", "seconds": 600})
    assert cluster.get("/simulator/nodes")["n1"]["next"]["what"] == "ready"


@pytest.mark.parametrize("body", ["{join: explode}", "[", "{colour: red}", "just text"])
def test_outcomes_that_nobody_knows_are_refused(cluster: Cluster, body: str) -> None:
    answer = cluster.call("PUT", "/simulator/nodes/n1", data=body)
    assert answer.status_code == 400
    assert answer.json()["faults"]
    assert cluster.get("/simulator/nodes") == {}


@pytest.mark.parametrize("body", ['{"status": "Maybe"}', '{"status": []}', "[]", "{"])
def test_a_status_that_nobody_knows_is_refused(cluster: Cluster, body: str) -> None:
    answer = cluster.call("PUT", "/simulator/nodes/n1/ready", data=body)
    assert (answer.status_code, cluster.names()) == (400, [])


def test_a_node_can_be_forgotten(cluster: Cluster) -> None:
    cluster.control("POST", "nodes/n1/join")
    cluster.control("DELETE", "nodes/n1")
    cluster.control("DELETE", "nodes/n2")
    assert (cluster.names(), cluster.get("/simulator/nodes")) == ([], {})


def test_another_scenario_is_for_those_who_are_expected_later(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1")
    assert cluster.call("POST", "/simulator/scenario", data=AT_ONCE).ok
    cluster.control("PUT", "nodes/n2")
    assert cluster.names() == ["n2"]


# Listing


def test_a_list_has_the_shape_of_a_list(start: Callable[..., Cluster]) -> None:
    cluster = start(AT_ONCE, nodes=["n2", "n1"])
    listed = cluster.get("/nodes")
    assert (listed["kind"], listed["apiVersion"]) == ("NodeList", "v1")
    assert [node["metadata"]["name"] for node in listed["items"]] == ["n1", "n2"]
    assert all("kind" not in node for node in listed["items"])
    assert set(listed["metadata"]) == {"resourceVersion"}
    assert (cluster.get("/nodes/n1")["kind"], cluster.get("/nodes/n1/status")["kind"]) == ("Node", "Node")


def test_pages_belong_to_one_moment(cluster: Cluster) -> None:
    for name in ("n1", "n2", "n4"):
        cluster.add(name)
    first = cluster.get("/nodes", limit=2)
    assert first["metadata"]["remainingItemCount"] == 1
    cluster.add("n3")
    cluster.call("DELETE", "/nodes/n4")
    second = cluster.get("/nodes", limit=2, **{"continue": first["metadata"]["continue"]})
    assert [node["metadata"]["name"] for node in second["items"]] == ["n4"]
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}
    assert cluster.names() == ["n1", "n2", "n3"]


def test_a_list_expires_and_says_how_to_read_on_all_the_same(cluster: Cluster) -> None:
    for name in ("n1", "n2", "n3"):
        cluster.add(name)
    following = cluster.get("/nodes", limit=1)["metadata"]["continue"]
    cluster.call("DELETE", "/nodes/n2")
    cluster.control("POST", "compaction")
    answer = cluster.call("GET", "/nodes", params={"limit": 1, "continue": following})
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")
    rest = cluster.get("/nodes", limit=1, **{"continue": answer.json()["metadata"]["continue"]})
    assert [node["metadata"]["name"] for node in rest["items"]] == ["n3"]


SELECTED = {
    "rack=r1": "n1 n2",
    "rack==r1,gen!=b": "n1",
    "gen": "n2",
    "!gen": "n1 n3",
    " rack != r1 ": "n3",
    "rack=": "",
    "": "n1 n2 n3",
}


@pytest.mark.parametrize(("selector", "expected"), SELECTED.items())
def test_labels_select(cluster: Cluster, selector: str, expected: str) -> None:
    cluster.add("n1", labels={"rack": "r1"})
    cluster.add("n2", labels={"rack": "r1", "gen": "b"})
    cluster.add("n3")
    assert cluster.names(labelSelector=selector) == expected.split()


def test_fields_select(cluster: Cluster) -> None:
    cluster.add("n1")
    cluster.add("n2")
    cluster.call("PATCH", "/nodes/n2", json={"spec": {"unschedulable": True}}, headers=MERGE)
    assert cluster.names(fieldSelector="metadata.name=n1") == ["n1"]
    assert cluster.names(fieldSelector="metadata.name!=n1") == ["n2"]
    assert cluster.names(fieldSelector="spec.unschedulable=true") == ["n2"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "x"}, 400),
        ({"continue": "x"}, 400),
        ({"continue": "e30"}, 400),
        ({"labelSelector": "a=b=c"}, 400),
        ({"fieldSelector": "status.phase=x"}, 400),
        ({"fieldSelector": "metadata.name"}, 400),
        ({"watch": "true"}, 400),
        ({"resourceVersion": "zz"}, 500),
        ({"continue": "e30", "resourceVersion": "7"}, 400),
    ],
    ids=str,
)
def test_a_query_that_nobody_understands_is_refused(cluster: Cluster, query: dict[str, str], code: int) -> None:
    assert cluster.fault("GET", "/nodes", params=query)[0] == code


# Changing


def test_a_merge_patch_replaces_lists_and_a_strategic_one_merges_conditions_by_type(cluster: Cluster) -> None:
    cluster.add("n1")
    for headers, left in ((MERGE, ["A"]), (STRATEGIC, ["A", "B"]), (STRATEGIC, ["A", "B"]), (MERGE, ["B"])):
        body = {"status": {"conditions": [{"type": left[-1], "status": "True"}]}}
        answer = cluster.call("PATCH", "/nodes/n1/status", json=body, headers=headers)
        assert [each["type"] for each in answer.json()["status"]["conditions"]] == left


def test_status_and_the_rest_are_changed_apart(cluster: Cluster) -> None:
    cluster.add("n1")
    both = {"spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    changed = cluster.call("PATCH", "/nodes/n1", json=both, headers=MERGE).json()
    assert (changed["spec"], changed["status"]) == ({"unschedulable": True}, {})
    changed = cluster.call("PATCH", "/nodes/n1/status", json={**both, "spec": None}, headers=STRATEGIC).json()
    assert (changed["spec"], len(changed["status"]["conditions"])) == ({"unschedulable": True}, 1)


def test_a_version_is_new_with_every_change_and_only_then(cluster: Cluster) -> None:
    first = cluster.add("n1")["metadata"]["resourceVersion"]
    patches = [{"spec": {"unschedulable": True}}, {"spec": {"unschedulable": True}}, {"spec": None}]
    changed = [cluster.call("PATCH", "/nodes/n1", json=patch, headers=MERGE).json() for patch in patches]
    versions = [int(first), *(int(each["metadata"]["resourceVersion"]) for each in changed)]
    assert versions[0] < versions[1] == versions[2] < versions[3]
    assert changed[-1]["spec"] == {}


def test_a_change_of_what_was_changed_meanwhile_is_a_conflict(cluster: Cluster) -> None:
    version = cluster.add("n1")["metadata"]["resourceVersion"]
    for code in (200, 409):
        body = {"metadata": {"resourceVersion": version, "labels": {"a": str(code)}}}
        assert cluster.call("PATCH", "/nodes/n1", json=body, headers=MERGE).status_code == code
    assert cluster.get("/nodes/n1")["metadata"]["labels"] == {"a": "200"}


REFUSED: dict[str, tuple[str, str, dict[str, Any], tuple[int, str]]] = {
    "no such node": ("GET", "/nodes/n9", {}, (404, "NotFound")),
    "no such node to change": ("PATCH", "/nodes/n9", {"json": {}, "headers": MERGE}, (404, "NotFound")),
    "no such node to delete": ("DELETE", "/nodes/n9", {}, (404, "NotFound")),
    "a second of the name": ("POST", "/nodes", {"json": {"metadata": {"name": "n1"}}}, (409, "AlreadyExists")),
    "a name in capitals": ("POST", "/nodes", {"json": {"metadata": {"name": "N_1"}}}, (422, "Invalid")),
    "no name": ("POST", "/nodes", {"json": {}}, (422, "Invalid")),
    "another kind": ("POST", "/nodes", {"json": {"kind": "Pod", "apiVersion": "v1"}}, (400, "BadRequest")),
    "no JSON": ("POST", "/nodes", {"data": '{"ki'}, (400, "BadRequest")),
    "no object": ("POST", "/nodes", {"json": ["n1"]}, (400, "BadRequest")),
    "another media type": ("PATCH", "/nodes/n1", {"json": {}}, (415, "UnsupportedMediaType")),
    "another name": (
        "PATCH",
        "/nodes/n1",
        {"json": {"metadata": {"name": "n2"}}, "headers": MERGE},
        (400, "BadRequest"),
    ),
    "another uid": ("PATCH", "/nodes/n1", {"json": {"metadata": {"uid": "x"}}, "headers": MERGE}, (422, "Invalid")),
    "a condition without a type": (
        "PATCH",
        "/nodes/n1/status",
        {"json": {"status": {"conditions": [{"status": "True"}]}}, "headers": STRATEGIC},
        (400, "BadRequest"),
    ),
    "another node of the name": ("DELETE", "/nodes/n1", {"json": {"preconditions": {"uid": "x"}}}, (409, "Conflict")),
    "a method that it does not have": ("PUT", "/nodes", {}, (405, "MethodNotAllowed")),
}


@pytest.mark.parametrize(("method", "path", "options", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_a_status(
    cluster: Cluster, method: str, path: str, options: dict[str, Any], expected: tuple[int, str]
) -> None:
    before = cluster.add("n1")
    assert cluster.fault(method, path, **options)[:2] == expected
    assert cluster.get("/nodes/n1") == before


def test_a_path_that_is_not_there_is_not_found(cluster: Cluster) -> None:
    assert cluster.call("GET", "/api/v1/secrets").status_code == 404


def test_a_deleted_node_is_gone_and_stays_away(start: Callable[..., Cluster]) -> None:
    cluster = start(AT_ONCE, nodes=["n1"])
    uid = cluster.get("/nodes/n1")["metadata"]["uid"]
    answer = cluster.call("DELETE", "/nodes/n1", json={"preconditions": {"uid": uid}}).json()
    assert (answer["status"], answer["details"]) == ("Success", {"name": "n1", "kind": "nodes", "uid": uid})
    assert cluster.names() == []
    cluster.control("POST", "nodes/n1/join")
    assert cluster.get("/nodes/n1")["metadata"]["uid"] != uid


def test_a_node_that_something_holds_is_only_marked_as_being_deleted(cluster: Cluster) -> None:
    cluster.add("n1", finalizers=["example.org/hold"])
    for _ in range(2):
        marked = cluster.call("DELETE", "/nodes/n1").json()
        assert (marked["kind"], marked["metadata"]["deletionGracePeriodSeconds"]) == ("Node", 0)
    assert cluster.get("/nodes/n1")["metadata"]["deletionTimestamp"].endswith("Z")
    assert cluster.call("PATCH", "/nodes/n1", json={"metadata": {"finalizers": None}}, headers=MERGE).ok
    assert cluster.names() == []


# Who is let in, and what goes wrong


def test_only_the_token_is_let_in(start: Callable[..., Cluster]) -> None:
    cluster = start(token="s3cret")
    assert cluster.call("GET", "/nodes", headers={"Authorization": "Bearer s3cret"}).ok
    assert cluster.fault("GET", "/nodes", headers={"Authorization": "Bearer other"})[:2] == (401, "Unauthorized")
    code, reason, message = cluster.fault("GET", "/nodes")
    assert (code, reason) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "nodes"' in message
    assert 'nodes "n1" is forbidden' in cluster.fault("GET", "/nodes/n1")[2]
    assert cluster.fault("GET", "/api")[2] == 'forbidden: User "system:anonymous" cannot get path "/api"'
    assert cluster.call("GET", "/readyz").text == "ok"
    assert cluster.fault("GET", "/version", headers={"Authorization": "Bearer other"})[0] == 401
    assert cluster.call("GET", "/simulator/nodes").ok


def test_the_service_misbehaves_in_its_own_words(cluster: Cluster) -> None:
    def struck(fault: dict[str, Any]) -> requests.Response:
        cluster.control("POST", "faults", [{"method": "GET", "path": "/nodes", "first": 1, **fault}])
        return cluster.call("GET", "/nodes")

    for code, reason in ((401, "Unauthorized"), (403, "Forbidden"), (409, "Unknown"), (500, "InternalError")):
        answer = struck({"status": code})
        assert (answer.status_code, answer.json()["code"], answer.json()["reason"]) == (code, code, reason)
    assert struck({"status": 429}).headers["Retry-After"] == "1"
    assert struck({"status": 503}).headers["Content-Type"] == "text/html"
    for action in ("drop", "truncate"):
        with pytest.raises(requests.RequestException):
            struck({"action": action}).json()
    assert cluster.call("GET", "/nodes").ok
    assert [each["fault"] for each in cluster.get("/simulator/requests")][-3:] == ["drop", "truncate", None]


def test_clients_find_out_what_there_is(cluster: Cluster) -> None:
    assert cluster.get("/version")["gitVersion"].startswith("v1.")
    assert cluster.get("/api")["versions"] == ["v1"]
    assert [each["name"] for each in cluster.get("/apis")["groups"]] == ["apps", "coordination.k8s.io", "policy"]
    resources = {each["name"]: each for each in cluster.get("/api/v1")["resources"]}
    assert (resources["nodes"]["kind"], resources["nodes"]["namespaced"]) == ("Node", False)
    assert set(resources) == {"nodes", "nodes/status", "namespaces", "pods", "pods/status", "pods/eviction"}
    assert cluster.get("/apis/apps/v1")["groupVersion"] == "apps/v1"
    assert [cluster.call("GET", path).text for path in ("/healthz", "/livez", "/readyz")] == ["ok"] * 3


# Pods


@pytest.mark.parametrize(
    ("version", "policy", "refused"), [("1.20", "v1beta1", "policy/v1"), ("1.31", "v1", "policy/v9")]
)
def test_evictions_and_budgets_have_the_version_of_the_cluster(
    start: Callable[..., Cluster], version: str, policy: str, refused: str
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


def test_the_kubelet_of_a_node_can_be_stopped_and_started(start: Callable[..., Cluster]) -> None:
    cluster = start(f"{AT_ONCE.removesuffix('}')}, lose_nodes: 0}}", nodes=["n1"])
    cluster.control("PUT", "nodes/n1/kubelet", {"running": False})
    assert cluster.ready("n1") == "Unknown"
    cluster.control("PUT", "nodes/n1/kubelet", {"running": True})
    assert cluster.ready("n1") == "True"
    assert cluster.call("PUT", "/simulator/nodes/n1/kubelet", json={}).status_code == 400
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
    assert cluster.get(lease)["spec"]["holderIdentity"] == "n1"


# The program


def test_the_program_expects_the_nodes_of_a_design_and_those_it_is_told(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(
        "{schema: drydock/BaremetalNode/v1, metadata: {name: CMP01}}\n---\n"
        "{schema: drydock/HostProfile/v1, metadata: {name: defaults}}\n---\njust text\n"
    )
    scenario, ready = tmp_path / "scenario.yaml", tmp_path / "ready.json"
    scenario.write_text(AT_ONCE)
    command = [sys.executable, "-m", "shipyard_simulators.kubernetes", "--port", "0", "--die-with-parent"]
    command += [
        "--site",
        str(site),
        "--node",
        "n1",
        "--version",
        "1.20",
        "--scenario",
        str(scenario),
        "--ready-file",
        str(ready),
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: ready.exists() or process.poll() is not None)
            url = json.loads(ready.read_text())["url"]
            listed = requests.get(f"{url}/api/v1/nodes", timeout=PATIENCE).json()
            pods = requests.get(f"{url}/api/v1/pods", timeout=PATIENCE).json()
            version = requests.get(f"{url}/version", timeout=PATIENCE).json()
        finally:
            process.terminate()
    assert [node["metadata"]["name"] for node in listed["items"]] == ["cmp01", "n1"]
    assert {each["spec"]["nodeName"] for each in pods["items"]} == {"cmp01", "n1"}
    assert version["gitVersion"] == "v1.20.2"


def test_the_program_names_a_design_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("{")
    for site in ("site.yaml", "none.yaml"):
        code, lines = refusal("kubernetes", "--site", str(tmp_path / site))
        assert code == 2
        assert f"--site: {tmp_path / site} cannot be read" in "".join(lines)


def test_machines_join_when_the_log_of_a_provisioner_says_that_they_are_deployed(tmp_path: Path) -> None:
    log = tmp_path / "ironic.jsonl"
    events: list[dict[str, Any]] = [
        {"event": "node_deployed", "node": "N1"},
        {"event": "machine", "kind": "status", "to": "Deployed", "machine": "n2"},
        {"event": "node_state", "before": "wait call-back", "state": "active", "node": "n3"},
        {"event": "node_state", "before": "adopting", "state": "active", "node": "n4"},
        {"event": "machine", "kind": "power", "to": "on", "machine": "n5"},
    ]
    with running(parse_scenario(AT_ONCE), follow=log) as simulator:

        def names() -> list[str]:
            return [node["metadata"]["name"] for node in Cluster(simulator).get("/nodes")["items"]]

        assert names() == []
        whole = "".join(json.dumps(event) + "\n" for event in events)
        log.write_text(whole[:-5])
        assert names() == ["n1", "n2", "n3"]
        log.write_text(whole + json.dumps({"event": "node_deployed", "node": "n6"}) + "\n")
        assert names() == ["n1", "n2", "n3", "n6"]
