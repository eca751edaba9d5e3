"""What the simulated controllers and kubelets do, with a clock that the test moves; no HTTP."""

from datetime import datetime
from typing import Any

import pytest

from shipyard_simulators.events import EventLog
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.disruption import check_eviction, counted, protects
from shipyard_simulators.kubernetes.errors import ApiError
from shipyard_simulators.kubernetes.kinds import NODES, PODS
from shipyard_simulators.kubernetes.manifests import add_manifests, ordinary
from shipyard_simulators.kubernetes.node import Object
from shipyard_simulators.kubernetes.selectors import selects, wants
from shipyard_simulators.kubernetes.workloads import Workloads
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.waiting import VirtualClock

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
DURATIONS = "{join_nodes: 0, ready_nodes: 0, start_pods: 5, stop_pods: 5, move_daemons: 3, stop_kubelet: 10}"


class Site:
    """Two ready nodes, n1 and n2, and what their pods are by now."""

    def __init__(self, *, scale: float = 1.0) -> None:
        self.clock = VirtualClock(scale)
        self.clock.moment = 1_000_000.0
        scenario = parse_scenario(f"durations: {DURATIONS}")
        self.cluster = SimulatedCluster(scenario, self.clock, EventLog(None))
        self.workloads = Workloads(self.cluster)
        self.cluster.look(lambda: self.cluster.expect(["n1", "n2"]))
        self.passes(0)

    def add(self, *manifests: dict[str, Any]) -> None:
        self.cluster.look(lambda: add_manifests(self.cluster, manifests))

    def passes(self, seconds: float) -> None:
        self.clock.passes(seconds)
        self.cluster.look(lambda: None)

    def pods(self) -> list[Object]:
        return self.cluster.look(lambda: list(self.cluster.objects(PODS).values()))

    def pod(self, name: str) -> Object:
        return next(each for each in self.pods() if each["metadata"]["name"].startswith(name))

    def delete(self, name: str, options: dict[str, Any]) -> None:
        pod = self.pod(name)
        self.cluster.look(lambda: self.workloads.delete(pod, options))

    def shown(self) -> set[str]:
        """Return each pod as name@node:phase, a leaving one marked."""
        return {
            f"{each['metadata']['name'].rpartition('-')[0] or each['metadata']['name']}"
            f"@{each['spec'].get('nodeName', '-')}:{each['status']['phase']}"
            + ("!" if "deletionTimestamp" in each["metadata"] else "")
            for each in self.pods()
        }

    def change(self, node: str, part: str, **values: Any) -> None:
        before = self.cluster.nodes[node]
        after = {**before, "metadata": dict(before["metadata"])}
        after[part] = {**after.get(part, {}), **values}
        self.cluster.look(lambda: self.cluster.replace(node, after))

    def renewed(self, node: str) -> float:
        leases = self.cluster.look(self.workloads.leases)
        [own] = [each for each in leases if each["metadata"]["name"] == node]
        return self.clock.now() - datetime.fromisoformat(own["spec"]["renewTime"]).timestamp()


def manifest(kind: str, name: str, template: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    spec |= {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": template or {}}}
    return {"kind": kind, "metadata": {"namespace": "ns", "name": name}, "spec": spec}


def a_pod(name: str = "p", *, status: Any = READY, node: str = "n1", owner: str = "", **metadata: Any) -> Object:
    if owner:
        metadata["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    named = {"namespace": "ns", "name": name, "uid": name, "labels": {"app": "web"}, **metadata}
    return {"kind": "Pod", "metadata": named, "spec": {"nodeName": node}, "status": status}


def budget(version: str = "policy/v1", selector: Any = None, **spec: Any) -> Object:
    spec["selector"] = {"matchLabels": {"app": "web"}} if selector is None else selector
    return {"apiVersion": version, "metadata": {"namespace": "ns", "name": "web"}, "spec": spec}


def test_an_evicted_pod_ends_and_is_replaced_on_another_node() -> None:
    site = Site()
    site.add(manifest("ReplicaSet", "web", replicas=1))
    site.passes(0)
    assert site.shown() == {"web@n1:Pending"}
    site.passes(5)
    assert site.shown() == {"web@n1:Running"}
    site.change("n1", "spec", unschedulable=True)
    web = site.pod("web")
    site.cluster.look(lambda: site.workloads.evict(web, {"gracePeriodSeconds": 30}))
    assert site.shown() == {"web@n1:Running!", "web@n2:Pending"}
    site.passes(5)
    assert site.shown() == {"web@n2:Running"}


def test_the_pods_of_a_daemon_set_follow_the_labels_of_nodes() -> None:
    site = Site()
    site.add(manifest("DaemonSet", "agent", {"nodeSelector": {"role": "a"}}))
    site.passes(0)
    assert site.shown() == set()
    site.change("n1", "metadata", labels={"role": "a"})
    site.change("n1", "spec", unschedulable=True)
    site.passes(5)
    assert site.shown() == {"agent@n1:Running"}
    site.change("n1", "metadata", labels={})
    site.passes(2)
    assert site.shown() == {"agent@n1:Running"}
    site.passes(1)
    assert site.shown() == {"agent@n1:Running!"}
    site.passes(5)
    assert site.shown() == set()


def test_a_dead_kubelet_ends_no_pod_and_renews_no_lease() -> None:
    site = Site()
    site.add(a_pod())
    site.passes(8)
    assert site.renewed("n1") <= 10
    site.cluster.look(lambda: site.cluster.stop_kubelet("n1"))
    site.delete("p", {"gracePeriodSeconds": 3})
    site.passes(39)
    assert site.renewed("n1") >= 39
    assert site.cluster.nodes["n1"]["status"]["conditions"][3]["status"] == "True"
    site.passes(1)
    assert site.cluster.nodes["n1"]["status"]["conditions"][3]["status"] == "Unknown"
    site.passes(1000)
    assert site.shown() == {"p@n1:Running!"}
    site.cluster.look(lambda: site.cluster.start_kubelet("n1"))
    site.passes(5)
    assert site.shown() == set()


def test_the_age_of_a_lease_is_in_nominal_seconds() -> None:
    site = Site(scale=0.01)
    site.cluster.look(lambda: site.cluster.stop_kubelet("n1"))
    site.passes(1)
    assert 100 <= site.renewed("n1") <= 110


def test_the_label_brings_the_pod_that_stops_the_kubelet() -> None:
    site = Site()
    site.add(*ordinary(2))
    site.passes(5)
    assert site.shown() == {f"{name}@{node}:Running" for name in ("kube-proxy", "web") for node in ("n1", "n2")}
    site.change("n1", "metadata", labels={"promenade-decomission": "enabled"})
    site.passes(5)
    assert "kubelet-stopper@n1:Running" in site.shown()
    assert site.renewed("n1") <= 10
    site.passes(10 + 60)
    assert site.renewed("n1") >= 60


def test_pods_of_a_removed_node_are_collected() -> None:
    site = Site()
    site.add(a_pod(), a_pod("q", node="n2"))
    site.cluster.look(lambda: site.cluster.remove("n1"))
    assert site.shown() == {"q@n2:Running"}


DELETED: dict[str, tuple[Object, dict[str, Any], set[str]]] = {
    "with grace": (a_pod(), {"gracePeriodSeconds": 9}, {"p@n1:Running!"}),
    "at once": (a_pod(), {"gracePeriodSeconds": 0}, set()),
    "finished": (a_pod(status={"phase": "Failed"}), {}, set()),
    "bound to no node": (a_pod(node=""), {}, set()),
}


@pytest.mark.parametrize(("pod", "options", "left"), DELETED.values(), ids=DELETED)
def test_a_deleted_pod_leaves(pod: Object, options: dict[str, Any], left: set[str]) -> None:
    site = Site()
    site.cluster.nodes["n1"]["spec"]["unschedulable"] = site.cluster.nodes["n2"]["spec"]["unschedulable"] = True
    site.add(pod)
    site.delete("p", options)
    assert site.shown() == left


def test_another_pod_of_the_name_is_not_deleted() -> None:
    site = Site()
    site.add(a_pod())
    with pytest.raises(ApiError, match="does not match the UID"):
        site.delete("p", {"preconditions": {"uid": "other"}})


OWNED = [a_pod(f"p{number}", owner="rs") for number in range(3)]
COUNTS: dict[str, tuple[Object, list[Object], tuple[int, int, int, int]]] = {
    "one may be missing": (budget(maxUnavailable=1), OWNED, (1, 2, 3, 3)),
    "one is missing": (budget(maxUnavailable=1), OWNED[:2], (0, 2, 2, 3)),
    "one is leaving": (
        budget(maxUnavailable=1),
        [*OWNED[:2], a_pod("l", owner="rs", deletionTimestamp="x")],
        (0, 2, 2, 3),
    ),
    "half of them, rounded up": (budget(maxUnavailable="50%"), OWNED, (2, 1, 3, 3)),
    "two must be there": (budget(minAvailable=2), OWNED, (1, 2, 3, 3)),
    "two must be ready": (budget(minAvailable=2), [*OWNED[:2], a_pod("u", status=UNREADY)], (0, 2, 2, 3)),
    "half must be there": (budget(minAvailable="50%"), OWNED, (1, 2, 3, 3)),
    "one without controller": (budget(maxUnavailable=1), [*OWNED, a_pod()], (0, 2, 4, 3)),
    "no pods": (budget(maxUnavailable=1), [], (0, 0, 0, 0)),
}


@pytest.mark.parametrize(("given", "pods", "expected"), COUNTS.values(), ids=COUNTS)
def test_a_budget_is_counted(given: Object, pods: list[Object], expected: tuple[int, int, int, int]) -> None:
    status = counted(given, pods, {"rs": 3})["status"]
    keys = ("disruptionsAllowed", "desiredHealthy", "currentHealthy", "expectedPods")
    assert tuple(status[key] for key in keys) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (budget(), True),
        (budget(selector={}), True),
        (budget("policy/v1beta1", selector={}), False),
        (budget(selector={"matchLabels": {"app": "db"}}), False),
    ],
    ids=["labels", "empty in v1", "empty in v1beta1", "other labels"],
)
def test_a_budget_protects_what_it_selects(given: Object, expected: bool) -> None:
    assert protects(given, a_pod()) is expected


NONE = counted(budget(minAvailable=3), OWNED, {})
MET = counted(budget(minAvailable=2), OWNED[:2], {})
EVICTED: dict[str, tuple[Object, list[Object], int]] = {
    "no budget": (a_pod(), [], 0),
    "pending": (a_pod(status={"phase": "Pending"}), [NONE], 0),
    "finished": (a_pod(status={"phase": "Succeeded"}), [NONE, NONE], 0),
    "none may go": (a_pod(), [NONE], 429),
    "not ready while enough are": (a_pod(status=UNREADY), [MET], 0),
    "ready while just enough are": (a_pod(), [MET], 429),
    "two budgets": (a_pod(), [NONE, MET], 500),
}


@pytest.mark.parametrize(("pod", "budgets", "code"), EVICTED.values(), ids=EVICTED)
def test_an_eviction_is_answered(pod: Object, budgets: list[Object], code: int) -> None:
    if not code:
        check_eviction(pod, budgets)
        return
    with pytest.raises(ApiError) as caught:
        check_eviction(pod, budgets)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("operator", "values", "labels", "expected"),
    [
        ("In", ["1", "2"], {"a": "2"}, True),
        ("In", ["1"], {}, False),
        ("NotIn", ["1"], {}, True),  # codespell:ignore notin
        ("NotIn", ["1"], {"a": "1"}, False),  # codespell:ignore notin
        ("Exists", None, {"a": ""}, True),
        ("DoesNotExist", None, {"a": ""}, False),
        ("Gt", ["1"], {"a": "2"}, True),
        ("Lt", ["1"], {"a": "2"}, False),
    ],
)
def test_a_requirement_holds(operator: str, values: Any, labels: dict[str, str], expected: bool) -> None:
    requirement = {"key": "a", "operator": operator, "values": values}
    assert selects({"matchExpressions": [requirement]}, labels) is expected
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert wants({"affinity": affinity}, NODES.name, labels) is expected


def test_a_cordoned_node_has_the_taint_as_long_as_it_is_cordoned() -> None:
    site = Site()
    own = {"key": "own", "effect": "NoExecute"}
    site.change("n1", "spec", unschedulable=True, taints=[own])
    mine, cordon = site.cluster.nodes["n1"]["spec"]["taints"]
    assert (mine, cordon["key"], cordon["effect"]) == (own, "node.kubernetes.io/unschedulable", "NoSchedule")
    site.change("n1", "spec", unschedulable=False)
    assert site.cluster.nodes["n1"]["spec"]["taints"] == [own]
    site.change("n2", "spec", unschedulable=True)
    site.change("n2", "spec", unschedulable=None)
    assert "taints" not in site.cluster.nodes["n2"]["spec"]


def test_a_mirror_pod_comes_back_while_its_kubelet_runs() -> None:
    site = Site()
    metadata = {"name": "etcd", "namespace": "ns", "annotations": {"kubernetes.io/config.mirror": "x"}}
    site.add({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"}, "status": READY})
    before = site.pod("etcd")["metadata"]
    for options in ({"gracePeriodSeconds": 0}, {}):
        site.delete("etcd", options)
        site.passes(60)
        after = site.pod("etcd")["metadata"]
        assert (after["uid"] != before["uid"], "deletionTimestamp" in after) == (True, False)
    site.cluster.look(lambda: site.cluster.stop_kubelet("n1"))
    site.delete("etcd", {"gracePeriodSeconds": 0})
    assert site.pods() == []
