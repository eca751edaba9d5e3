"""Objects that tests and demonstrations add, and the ordinary pods of a site."""

from collections.abc import Iterable, Mapping
from typing import Any

from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import bad_request
from shipyard_simulators.kubernetes.node import Object
from shipyard_simulators.kubernetes.object_resources import create
from shipyard_simulators.kubernetes.workloads import STOPPER


def add_manifests(cluster: SimulatedCluster, manifests: Iterable[Mapping[str, Any]]) -> list[Object]:
    """Add objects of any kind but nodes, with the status that they are given. Raises ApiError."""
    by_name = {kind.name: kind for kind in cluster.kinds}
    added = []
    for manifest in manifests:
        if manifest.get("kind") not in by_name:
            raise bad_request(f"kind: should be one of {', '.join(by_name)}")
        kind = by_name[manifest["kind"]]
        added.append(create(cluster, kind, {**manifest, "apiVersion": kind.api_version}, ""))
    return added


def ordinary(nodes: int) -> list[Object]:
    """Return what a site usually runs: a DaemonSet, the one that stops kubelets, and a service with a budget."""
    web = {"matchLabels": {"app": "web"}}
    return [
        _controller("DaemonSet", "kube-system", "kube-proxy", {}),
        _controller("DaemonSet", "kube-system", "kubelet-stopper", {"nodeSelector": STOPPER}),
        _controller("ReplicaSet", "default", "web", {}, replicas=nodes),
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {"maxUnavailable": 1, "selector": web},
        },
    ]


def _controller(kind: str, namespace: str, name: str, spec: Object, **also: int) -> Object:
    labels = {"app": name}
    pod = {"containers": [{"name": name, "image": f"registry.example.org/{name}"}], **spec}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template, **also}
    return {"kind": kind, "metadata": {"namespace": namespace, "name": name}, "spec": spec}
