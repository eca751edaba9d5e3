"""The ports of the cluster and of a teardown's nodes over a Kubernetes API server (contract: promenade, chapter 4)."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from shipyard_api.adapters.kubernetes import evictions, translate
from shipyard_api.adapters.kubernetes.answer import SYSTEM, Answer
from shipyard_api.adapters.kubernetes.client import MERGE_PATCH, KubernetesClient
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.json_types import JsonObject, member
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.pods import Budget, DaemonSet, Pod, PodUid
from shipyard_api.http import segment
from shipyard_api.ports.cluster import ClusterNode, Eviction, KubeletStopper, NodeDeletion, NodeLook
from shipyard_api.ports.errors import Refused, Unavailable

T = TypeVar("T")

_NODES = "api/v1/nodes"
_LEASES = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_DAEMON_SETS = "apis/apps/v1/daemonsets"
_HOSTNAME = "kubernetes.io/hostname"
# Names of nodes (RFC 1123), and values of the label.
_POSSIBLE = re.compile(r"[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?")


class KubernetesNodes:
    """The nodes of the cluster behind one API server.

    A node is found by its name in lower case, else by its label ``kubernetes.io/hostname``. The names in what is
    returned are those of the Node objects.
    """

    name = SYSTEM

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    def node(self, name: NodeName) -> ClusterNode | None:
        """Return the node with its lease, None if the cluster does not have it."""
        answer = self._found(name)
        return None if answer is None else self._with_lease(answer.object())

    def look(self, name: NodeName) -> NodeLook | None:
        """Return the node with its pods and what protects them, None if the cluster does not have it."""
        answer = self._found(name)
        if answer is None:
            return None
        node = self._with_lease(answer.object())
        return NodeLook(node, self._pods(node.name), self._budgets(), self._daemon_sets(), answer.server_time)

    def cordon(self, node: ClusterNode, *, label: str = "") -> None:
        """Let no new pod be scheduled on the node; does nothing if the node is gone or replaced under its name."""
        if not node.cordoned:
            labels = {"labels": {label: "cordoned"}} if label else {}
            self._patched(node, {"spec": {"unschedulable": True}}, {"uid": node.uid, **labels})

    def uncordon(self, node: ClusterNode, *, label: str) -> None:
        """Let pods be scheduled on the node again, and remove the label; does nothing as ``cordon`` does."""
        self._patched(node, {"spec": {"unschedulable": None}}, {"uid": node.uid, "labels": {label: None}})

    def evict(self, pods: Sequence[Pod], *, grace: int) -> Mapping[PodUid, Eviction]:
        """Request the eviction of each pod, 20 at a time, for 25 s at most."""
        return evictions.evict(self._client, pods, grace=grace) if pods else {}

    def delete_pods(self, pods: Sequence[Pod], *, grace: int) -> None:
        """Delete the pods, 20 at a time, for 25 s at most; raises the first failure after the others were tried."""
        evictions.delete(self._client, pods, grace=grace)

    def remove_labels(self, node: ClusterNode, keys: Collection[str]) -> bool:
        """Remove labels if the node is still what was read; False: it has changed, read it again."""
        return not keys or self._relabelled(node, dict.fromkeys(keys))

    def set_labels(self, node: ClusterNode, labels: Mapping[str, str]) -> bool:
        """Set labels, and leave all others, if the node is still what was read; False: it has changed, read again."""
        return labels.items() <= node.labels.items() or self._relabelled(node, labels)

    def kubelet_stopper(self, name: NodeName) -> KubeletStopper | None:
        """Return the DaemonSet that waits for the label ``promenade-decomission``, None if there is none."""
        answer = self._found(name)
        pods = self._pods(self._read(answer.object(), _name)) if answer else ()
        return translate.kubelet_stopper(self._daemon_sets(), pods)

    def delete_node(self, node: ClusterNode) -> NodeDeletion:
        """Delete this very node, by its uid."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": node.uid}}
        answer = self._client.send("DELETE", f"{_NODES}/{segment(node.name)}", body)
        if answer.lacks_object:
            return NodeDeletion.GONE
        if answer.status == 409:
            return NodeDeletion.ANOTHER_NODE
        self._client.expected(answer)
        return NodeDeletion.ACCEPTED

    def _found(self, name: NodeName) -> Answer | None:
        """Return the answer with the Node object. Raises Refused if several nodes have the host name.

        No node has a name that Kubernetes does not allow, such as ``..``, which would lead to another address.
        """
        host = name.lower()
        if not _POSSIBLE.fullmatch(host):
            return None
        answer = self._client.read(f"{_NODES}/{segment(host)}")
        if answer is not None:
            return answer
        named = self._client.listed(_NODES, "NodeList", labelSelector=f"{_HOSTNAME}={host}")
        if len(named) > 1:
            raise Refused(SYSTEM, f"GET /{_NODES}", f"{len(named)} nodes have the label {_HOSTNAME}={host}")
        return self._client.read(f"{_NODES}/{segment(self._read(named[0], _name))}") if named else None

    def _with_lease(self, node: JsonObject) -> ClusterNode:
        lease = self._client.read(f"{_LEASES}/{segment(self._read(node, _name))}")
        held = lease.object() if lease else None
        return self._read(node, lambda listed_node: translate.cluster_node(listed_node, held))

    def _pods(self, node: str) -> tuple[Pod, ...]:
        listed = self._client.listed("api/v1/pods", "PodList", fieldSelector=f"spec.nodeName={node}")
        return tuple(self._read(entry, translate.pod) for entry in listed)

    def _budgets(self) -> tuple[Budget, ...]:
        version = self._policy_version()
        listed = self._client.listed(f"apis/{version}/poddisruptionbudgets", "PodDisruptionBudgetList")
        return tuple(self._read(entry, lambda entry: translate.budget(entry, version)) for entry in listed)

    def _policy_version(self) -> str:
        """Return the API version of budgets: policy/v1, or policy/v1beta1 before Kubernetes 1.21."""
        answer = self._client.read("apis/policy")
        versions = answer.object().get("versions") if answer else None
        served = {group.get("groupVersion") for group in versions or () if isinstance(group, dict)}
        for version in (translate.POLICY_V1, translate.POLICY_V1BETA1):
            if version in served:
                return version
        raise Unavailable(SYSTEM, "GET /apis/policy", "it serves no version of PodDisruptionBudgets that is known")

    def _daemon_sets(self) -> tuple[DaemonSet, ...]:
        return tuple(
            self._read(entry, translate.daemon_set) for entry in self._client.listed(_DAEMON_SETS, "DaemonSetList")
        )

    def _relabelled(self, node: ClusterNode, labels: Mapping[str, str | None]) -> bool:
        return self._patched(node, {}, {"resourceVersion": node.version, "uid": node.uid, "labels": labels})

    def _patched(self, node: ClusterNode, change: JsonObject, metadata: Mapping[str, Any]) -> bool:
        """Change the node that was read; False if it has gone, has changed, or another node has its name."""
        body = {"metadata": dict(metadata), **change}
        answer = self._client.send("PATCH", f"{_NODES}/{segment(node.name)}", body, content_type=MERGE_PATCH)
        is_another = answer.status == 422 and "metadata.uid" in answer.causes
        if answer.lacks_object or answer.status == 409 or is_another:
            return False
        self._client.expected(answer)
        return True

    def _read(self, entry: JsonObject, translate: Callable[[JsonObject], T]) -> T:
        """Return a translated object. Raises Unavailable, which names the object, if it cannot be read."""
        try:
            return translate(entry)
        except (ValueError, TypeError) as error:
            metadata = entry.get("metadata")
            named = metadata if isinstance(metadata, dict) else {}
            which = f"{named.get('namespace') or '-'}/{named.get('name') or '-'}"
            detail = self._client.scrubber.line(f"sent {which}, which cannot be read: {error}", 300)
            raise Unavailable(SYSTEM, "answer", detail) from error


def _name(node: JsonObject) -> str:
    name = member(node, "metadata", "name")
    if not isinstance(name, str) or not name:
        raise ValueError("a node without name")
    return name


class KubernetesCluster:
    """The cluster behind one API server. ``nodes``: the port of its nodes, over the same connections."""

    name = SYSTEM

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client
        self.nodes = KubernetesNodes(client)

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, ObservedMember]:
        """Return the readiness of each of these nodes, from one listing of all nodes (no nodes: no request)."""
        return translate.readiness(self._client.nodes(), nodes, self._client.scrubber) if nodes else {}
