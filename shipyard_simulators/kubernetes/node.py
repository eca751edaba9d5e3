"""A Node object as a kubelet registers it, with the conditions it reports."""

from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5
from zlib import crc32

from shipyard_simulators.kubernetes.versions import KUBERNETES

Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"

_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
READY = ("True", "KubeletReady", "kubelet is posting ready status")
STARTING = (
    "False",
    "KubeletNotReady",
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized",
)
LOST = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")


def stamp(moment: float) -> str:
    """Return the moment in Kubernetes' format: UTC, whole seconds."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


def registered(name: str, moment: float) -> Object:
    """Return a node that has just joined and is not ready yet."""
    number = crc32(name.encode())
    address = f"10.23.{number >> 8 & 0xFF}.{number & 0xFF}"
    labels = {"kubernetes.io/arch": "amd64", HOSTNAME: name, "kubernetes.io/os": "linux"}
    resources = {"cpu": "48", "ephemeral-storage": "459602040Ki", "memory": "263837464Ki", "pods": "110"}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": str(uuid4()),
            "creationTimestamp": stamp(moment),
            "labels": labels,
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"podCIDR": f"10.97.{number & 0xFF}.0/24", "podCIDRs": [f"10.97.{number & 0xFF}.0/24"]},
        "status": {
            "capacity": dict(resources),
            "allocatable": dict(resources),
            "conditions": _conditions(name, moment),
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                # A machine has the same ids in every run.
                "machineID": uuid5(NAMESPACE_URL, f"machine:{name}").hex,
                "systemUUID": str(uuid5(NAMESPACE_URL, f"system:{name}")),
                "bootID": str(uuid4()),
                "kernelVersion": "6.8.0-45-generic",
                "osImage": "Ubuntu 24.04.1 LTS",
                "containerRuntimeVersion": "containerd://1.7.22",
                "kubeletVersion": KUBERNETES,
                "kubeProxyVersion": KUBERNETES,
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def report(node: Object, moment: float, ready: tuple[str, str, str]) -> None:
    """Update the conditions: from the kubelet, or, if it is silent, all to Unknown."""
    conditions = {kind: LOST if ready[0] == "Unknown" else ("False", *words) for kind, words in _PRESSURES.items()}
    for kind, (status, reason, message) in {**conditions, "Ready": ready}.items():
        condition = _condition(node, kind)
        if condition.get("status") != status:
            condition["lastTransitionTime"] = stamp(moment)
        condition |= {"status": status, "lastHeartbeatTime": stamp(moment), "reason": reason, "message": message}


def _conditions(name: str, moment: float) -> list[Object]:
    """Return the first conditions. Ready is not the last one where a network plugin adds its own."""
    said = {kind: ("False", *words) for kind, words in _PRESSURES.items()} | {"Ready": STARTING}
    if crc32(name.encode()) % 2:
        said["NetworkUnavailable"] = ("False", "CalicoIsUp", "Calico is running on this node")
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": stamp(moment),
            "lastTransitionTime": stamp(moment),
            "reason": reason,
            "message": message,
        }
        for kind, (status, reason, message) in said.items()
    ]


def _condition(node: Object, kind: str) -> Object:
    conditions: list[Object] = node.setdefault("status", {}).setdefault("conditions", [])
    for each in conditions:
        if each.get("type") == kind:
            return each
    conditions.append({"type": kind})
    return conditions[-1]
