"""Which right a request needs."""

import pytest

from shipyard_api.adapters.kubernetes.client import needed_right
from tests.unit.tables import table

NEEDED = {
    "list nodes": ("GET", "api/v1/nodes"),
    "get nodes": ("GET", "api/v1/nodes/n1"),
    "patch nodes": ("PATCH", "/api/v1/nodes/n1"),
    "delete nodes": ("DELETE", "api/v1/nodes/n1"),
    "list pods": ("GET", "api/v1/pods"),
    "delete pods in ns": ("DELETE", "api/v1/namespaces/ns/pods/p"),
    "create pods/eviction in ns": ("POST", "api/v1/namespaces/ns/pods/p/eviction"),
    "list daemonsets.apps": ("GET", "apis/apps/v1/daemonsets"),
    "list poddisruptionbudgets.policy": ("GET", "apis/policy/v1beta1/poddisruptionbudgets"),
    "get leases.coordination.k8s.io in kube-node-lease": (
        "GET",
        "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1",
    ),
    "get namespaces": ("GET", "api/v1/namespaces/ns"),
    "None": ("GET", "api/v1"),
    "none": ("GET", "apis/policy"),
}


@table(("method", "path"), NEEDED)
def test_a_request_needs_one_right_and_discovery_none(method: str, path: str, request: pytest.FixtureRequest) -> None:
    assert str(needed_right(method, path)).lower() == request.node.callspec.id.lower()
