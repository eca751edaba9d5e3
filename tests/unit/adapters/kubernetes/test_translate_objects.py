"""Kubernetes objects, as a teardown reads them."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.adapters.kubernetes import translate
from shipyard_api.adapters.kubernetes.translate import POLICY_V1, POLICY_V1BETA1
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.kubelet import Ready
from shipyard_api.domain.teardown.labels import NodeFit, NodeTerm, Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget, Controller, DaemonSet, Pod, PodPhase, PodUid
from shipyard_api.ports.cluster import ClusterNode, KubeletStopper
from tests.unit.tables import every_row

NAMED = {"namespace": "ns", "name": "one", "uid": "u1"}
PLAIN = Pod("ns", "one", PodUid("u1"), PodPhase.UNKNOWN, ready=False)
READY = {"conditions": [{"type": "PodScheduled", "status": "False"}, {"type": "Ready", "status": "True"}]}
A_IS_B = Requirement("a", Operator.IN, ("b",))


def test_a_node_is_read_with_its_lease() -> None:
    node = {
        "metadata": {"name": "n1", "uid": "u1", "resourceVersion": "7", "labels": {"a": "b"}},
        "spec": {"unschedulable": True},
        "status": {**READY, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname"}]},
    }
    lease = {"spec": {"renewTime": "2026-03-02T09:00:00.500000Z"}}
    renewed = datetime(2026, 3, 2, 9, 0, 0, 500_000, UTC)
    expected = ClusterNode(NodeName("n1"), "u1", "7", True, {"a": "b"}, ("10.0.0.1",), Ready.TRUE, renewed)
    assert translate.cluster_node(node, lease) == expected


@every_row(
    product(
        [None, {}, {"spec": None}, {"spec": {"renewTime": None}}],
        [None, {}, {"conditions": [{"type": "Ready", "status": "odd"}]}],
    )
)
def test_a_node_that_reports_nothing_is_unknown(lease: Any, status: Any) -> None:
    found = translate.cluster_node(
        {"metadata": {"name": "n1", "uid": "u", "resourceVersion": "7"}, "status": status}, lease
    )
    assert (found.ready, found.renewed_at, found.cordoned, found.addresses) == (Ready.UNKNOWN, None, False, ())


PODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "running and ready": (
        {"status": {"phase": "Running", **READY}},
        {"phase": PodPhase.RUNNING, "ready": True},
    ),
    "finished": ({"status": {"phase": "Succeeded"}}, {"phase": PodPhase.SUCCEEDED}),
    "of a newer phase": ({"status": {"phase": "Resting"}}, {}),
    "labelled": ({"metadata": {"labels": {"a": "b"}}}, {"labels": {"a": "b"}}),
    "owned": ({"metadata": {"ownerReferences": [{"kind": "Node", "name": "n1"}]}}, {}),
    "controlled": (
        {
            "metadata": {
                "ownerReferences": [{"kind": "X", "name": "x"}, {"kind": "Job", "name": "j", "controller": True}]
            }
        },
        {"controller": Controller("Job", "j")},
    ),
    "static": ({"metadata": {"annotations": {"kubernetes.io/config.mirror": ""}}}, {"mirror": True}),
    "with local data": ({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}, {"local_data": True}),
    "with claims": (
        {
            "spec": {
                "volumes": [
                    {"name": "v", "persistentVolumeClaim": {"claimName": "c1"}},
                    {"name": "w", "ephemeral": {"volumeClaimTemplate": {}}},
                    {"name": "x", "secret": {}},
                ]
            }
        },
        {"volumes": ("c1", "one-w")},
    ),
    "leaving": (
        {"metadata": {"deletionTimestamp": "2026-03-02T09:00:00Z"}},
        {"leaves_at": datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)},
    ),
    "leaving, in no zone": (
        {"metadata": {"deletionTimestamp": "2026-03-02T09:00:00"}},
        {"leaves_at": datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)},
    ),
    "held": ({"metadata": {"finalizers": ["a/b"]}}, {"finalizers": ("a/b",)}),
}


@every_row(PODS)
def test_a_pod(parts: dict[str, Any], expected: dict[str, Any]) -> None:
    found = translate.pod(parts | {"metadata": NAMED | parts.get("metadata", {})})
    assert found == Pod(**{name: getattr(PLAIN, name) for name in PLAIN.__slots__} | expected)


SELECTORS: dict[str, tuple[Any, str, tuple[Requirement, ...] | None]] = {
    "none in v1": (None, POLICY_V1, None),
    "none in v1beta1": (None, POLICY_V1BETA1, None),
    "empty in v1": ({}, POLICY_V1, ()),
    "empty in v1beta1": ({}, POLICY_V1BETA1, None),
    "empty parts in v1beta1": ({"matchLabels": {}, "matchExpressions": []}, POLICY_V1BETA1, None),
    "labels": ({"matchLabels": {"a": "b"}}, POLICY_V1BETA1, (A_IS_B,)),
    "both": (
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
        POLICY_V1,
        (A_IS_B, Requirement("c", Operator.EXISTS)),
    ),
}


@every_row(SELECTORS)
def test_an_empty_selector_selects_every_pod_but_none_in_v1beta1(
    selector: Any, version: str, expected: tuple[Requirement, ...] | None
) -> None:
    assert translate.budget({"metadata": NAMED, "spec": {"selector": selector}}, version).selector == expected


def test_a_budget_is_read_with_its_status() -> None:
    status = {"disruptionsAllowed": 1, "desiredHealthy": 2, "currentHealthy": 3, "expectedPods": 4}
    found = {
        "metadata": NAMED | {"generation": 2},
        "spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
        "status": {**status, "observedGeneration": 2},
    }
    assert translate.budget(found, POLICY_V1) == Budget("ns", "one", None, 1, 2, 3, 4, spares_unready=True)
    found["status"] = {**status, "observedGeneration": 1}
    assert not translate.budget(found, POLICY_V1).current_status
    assert translate.budget({"metadata": NAMED}, POLICY_V1) == Budget("ns", "one", None, 0, 0, 0, 0)
    for count in ("1", 1.5):
        with pytest.raises(ValueError, match="expectedPods is not a whole number"):
            translate.budget(found | {"status": {"expectedPods": count}}, POLICY_V1)
    newer = {"selector": {"matchExpressions": [{"key": "a", "operator": "Resembles"}]}}
    with pytest.raises(ValueError, match="Resembles"):
        translate.budget({"metadata": NAMED, "spec": newer}, POLICY_V1)


def daemon(**template: Any) -> dict[str, Any]:
    return {"metadata": NAMED, "spec": {"template": {"spec": template}}}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": required}


ON_N1 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
FITS: dict[str, tuple[dict[str, Any], NodeFit]] = {
    "every node": ({}, NodeFit()),
    "by label": ({"nodeSelector": {"a": "b"}}, NodeFit((A_IS_B,))),
    "preferred": ({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}, NodeFit()),
    "no term": ({"affinity": affinity()}, NodeFit((), ())),
    "by field or label": (
        {"affinity": affinity(ON_N1, {"matchExpressions": [{"key": "c", "operator": "Gt", "values": ["1"]}]})},
        NodeFit(
            (),
            (
                NodeTerm((), (Requirement("metadata.name", Operator.IN, ("n1",)),)),
                NodeTerm((Requirement("c", Operator.GREATER, ("1",)),)),
            ),
        ),
    ),
}


@every_row(FITS)
def test_a_daemon_set_wants_nodes(template: dict[str, Any], wants: NodeFit) -> None:
    assert translate.daemon_set(daemon(**template)) == DaemonSet("ns", "one", wants)


def test_the_kubelet_stopper_is_the_daemon_set_that_waits_for_the_label() -> None:
    other = translate.daemon_set(daemon(nodeSelector={"promenade-decomission": "disabled"}))
    stopper = translate.daemon_set(daemon(nodeSelector={"promenade-decomission": "enabled"}))
    own = {"ownerReferences": [{"kind": "DaemonSet", "name": "one", "controller": True}]}
    pod = translate.pod({"metadata": NAMED | own, "status": {"phase": "Pending"}})
    assert translate.kubelet_stopper([other], [pod]) is None
    assert translate.kubelet_stopper([other, stopper], []) == KubeletStopper("ns", "one")
    assert translate.kubelet_stopper([stopper], [PLAIN, pod]) == KubeletStopper("ns", "one", "Pending")
    earlier = replace(stopper, namespace="a", name="z")
    assert translate.kubelet_stopper([stopper, earlier], [pod]) == KubeletStopper("a", "z")
    assert translate.kubelet_stopper([stopper], [replace(pod, namespace="a")]) == KubeletStopper("ns", "one")


@every_row(
    [
        {},
        {"metadata": {"name": "one", "namespace": "ns"}},
        {"metadata": NAMED | {"name": 1}},
        {"metadata": NAMED | {"name": ""}},
        {"metadata": NAMED | {"deletionTimestamp": "soon"}},
        {"metadata": NAMED | {"ownerReferences": [{"controller": True}]}},
    ],
)
def test_a_pod_that_cannot_be_read_is_an_error(found: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        translate.pod(found)
