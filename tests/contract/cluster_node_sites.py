"""The clusters that the suite of the port of nodes runs over: the simulator in two versions, and a real API server.

The test plays every kubelet, over plain HTTP. The adapter before the real one is a user with the rights of
``etc/kubernetes/shipyard-rbac.yaml`` and no other.
"""

import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from shipyard_api.adapters.kubernetes.access import Access, Address, Kubeconfig
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesNodes
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain_plan import DrainPlan, plan_drain
from shipyard_api.ports.cluster import NodeLook
from shipyard_simulators.kubernetes import simulator as kubernetes_simulator
from tests.contract.cluster_sites import REAL, with_authority
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]
RBAC = ROOT / "etc" / "kubernetes" / "shipyard-rbac.yaml"
STOPPER = ROOT / "etc" / "kubernetes" / "kubelet-stopper.yaml"
MERGE = {"Content-Type": "application/merge-patch+json"}
PLURALS = {
    "Namespace": "api/v1/namespaces",
    "ServiceAccount": "api/v1/namespaces/{}/serviceaccounts",
    "DaemonSet": "apis/apps/v1/namespaces/{}/daemonsets",
    "ClusterRole": "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}

Object = dict[str, Any]


class NodeSite:
    """A cluster, the adapter before it, and what a test lets happen in it."""

    def __init__(
        self, url: str, session: requests.Session, access: Access, cleanup: ExitStack, *, page: int = 5
    ) -> None:
        client = KubernetesClient(access, first_pause=0.0, page=page)
        cleanup.callback(client.close)
        self.nodes = KubernetesNodes(client)
        self._url, self._session, self._cleanup = url, session, cleanup
        # A real cluster is shared with whoever else uses it.
        self.prefix = f"t{uuid.uuid4().hex[:8]}"
        self.space = self.add_namespace("")

    def call(self, method: str, path: str, body: Any = None, *, may_lack: bool = False) -> Object:
        headers = MERGE if method == "PATCH" else {}
        answer = self._session.request(method, f"{self._url}/{path}", json=body, headers=headers, timeout=PATIENCE)
        assert answer.ok or (may_lack and answer.status_code == 404), f"{method} {path}: {answer.text}"
        found: Object = answer.json()
        return found

    def name(self, node: str) -> NodeName:
        return NodeName(f"{self.prefix}-{node}")

    def add_namespace(self, name: str) -> str:
        full = f"{self.prefix}{name}"
        self.call("POST", "api/v1/namespaces", {"metadata": {"name": full}})
        self._cleanup.callback(self._remove_namespace, full)
        return full

    def add_node(self, node: str, *, labels: Mapping[str, str] | None = None, ready: str = "True") -> NodeName:
        name = self.name(node)
        self.call("POST", "api/v1/nodes", {"metadata": {"name": name, "labels": labels or {}}})
        self._cleanup.callback(self.call, "DELETE", f"api/v1/nodes/{name}", may_lack=True)
        conditions = [{"type": "Ready", "status": ready, "reason": "Test", "message": ""}]
        addresses = [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": name}]
        self.call(
            "PATCH", f"api/v1/nodes/{name}/status", {"status": {"conditions": conditions, "addresses": addresses}}
        )
        return name

    def add_lease(self, node: NodeName, renewed: datetime) -> None:
        base = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": node, "renewTime": f"{renewed.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}
        self.call("POST", base, {"metadata": {"name": node}, "spec": spec})
        self._cleanup.callback(self.call, "DELETE", f"{base}/{node}", may_lack=True)

    def add_pod(
        self,
        node: NodeName,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        phase: str = "Running",
        ready: bool = True,
        space: str = "",
        metadata: Object | None = None,
        volumes: list[Object] | None = None,
    ) -> str:
        """Add a pod, let its kubelet report it, and return its uid. Its own grace period is 30 s."""
        path = f"api/v1/namespaces/{space or self.space}/pods"
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "volumes": volumes or []}
        body = {"metadata": {"name": name, "labels": labels or {}, **(metadata or {})}, "spec": spec}
        found = self.call("POST", path, body)
        conditions = [{"type": "Ready", "status": str(ready)}]
        self.call("PATCH", f"{path}/{name}/status", {"status": {"phase": phase, "conditions": conditions}})
        return str(found["metadata"]["uid"])

    def end_pod(self, name: str, *, space: str = "") -> None:
        """Let the kubelet confirm that a pod has ended."""
        self.call("DELETE", f"api/v1/namespaces/{space or self.space}/pods/{name}", {"gracePeriodSeconds": 0})

    def add_budget(self, name: str, *, space: str = "", selector: Object | None = None, **spec: Any) -> None:
        chosen = selector if selector is not None else {"matchLabels": {"app": name}}
        self.call("POST", self._budgets(space), {"metadata": {"name": name}, "spec": {"selector": chosen, **spec}})

    def count_budget(self, name: str, *, expected: int, current: int, space: str = "") -> None:
        """Wait until the disruption controller has counted this many pods."""

        def is_counted() -> bool:
            status = self.call("GET", f"{self._budgets(space)}/{name}").get("status", {})
            return (status.get("expectedPods", 0), status.get("currentHealthy", 0)) == (expected, current)

        until(is_counted)

    def add_daemon_set(self, name: str, node: NodeName | None = None, **template: Any) -> None:
        """Add a DaemonSet, with its pod on a node."""
        labels = {"app": name}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}], **template}}
        spec = {"selector": {"matchLabels": labels}, "template": pod}
        made = self.call(
            "POST", f"apis/apps/v1/namespaces/{self.space}/daemonsets", {"metadata": {"name": name}, "spec": spec}
        )
        if node:
            owner = {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": name, "uid": made["metadata"]["uid"]}
            self.add_pod(node, f"{name}-1", labels=labels, metadata={"ownerReferences": [owner | {"controller": True}]})

    def remove_daemon_set(self, name: str) -> None:
        self.call(
            "DELETE", f"apis/apps/v1/namespaces/{self.space}/daemonsets/{name}", {"propagationPolicy": "Background"}
        )

    def end_namespace(self, space: str) -> None:
        """Begin to delete a namespace; its pods wait for their kubelets."""
        self.call("DELETE", f"api/v1/namespaces/{space}")

    def look(self, node: NodeName) -> NodeLook:
        found = self.nodes.look(node)
        assert found is not None
        return found

    def plan(self, node: NodeName) -> DrainPlan:
        look = self.look(node)
        return plan_drain(look.pods, look.budgets, look.daemon_sets, now=look.server_time)

    def check_manifest(self, manifest: Object) -> None:
        """Let the API server check a manifest, without storing it.

        One that runs without ``--allow-privileged`` refuses that and nothing else.
        """
        path = PLURALS[manifest["kind"]].format(manifest["metadata"].get("namespace", ""))
        answer = self._session.post(f"{self._url}/{path}?dryRun=All&fieldManager=test", json=manifest, timeout=PATIENCE)
        causes = answer.json().get("details", {}).get("causes", [])
        refused = [each["field"].rpartition(".")[2] for each in causes]
        assert answer.status_code in (201, 409) or refused == ["privileged"], answer.text

    def may(self, verb: str, group: str, resource: str, namespace: str) -> bool:
        """Return whether the user ``shipyard`` has a right."""
        whole, _, sub = resource.partition("/")
        wanted = {"verb": verb, "group": group, "resource": whole, "subresource": sub, "namespace": namespace}
        spec = {"user": "shipyard", "groups": ["shipyard", "system:authenticated"], "resourceAttributes": wanted}
        review = self.call("POST", "apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        return bool(review["status"]["allowed"])

    def _budgets(self, space: str) -> str:
        [version] = self.call("GET", "apis/policy")["versions"]
        return f"apis/{version['groupVersion']}/namespaces/{space or self.space}/poddisruptionbudgets"

    def _remove_namespace(self, name: str) -> None:
        for pod in self.call("GET", f"api/v1/namespaces/{name}/pods")["items"]:
            path = f"api/v1/namespaces/{name}/pods/{pod['metadata']['name']}"
            self.call("DELETE", path, {"gracePeriodSeconds": 0}, may_lack=True)
        self.call("DELETE", f"api/v1/namespaces/{name}", may_lack=True)


def manifests(file: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


def simulated(version: str) -> Callable[[ExitStack, Path], NodeSite]:
    def start(cleanup: ExitStack, _directory: Path) -> NodeSite:
        simulator = cleanup.enter_context(kubernetes_simulator.running(version=version))
        return NodeSite(simulator.url, session(), Address(simulator.url), cleanup)

    return start


def real(cleanup: ExitStack, directory: Path) -> NodeSite:
    given = os.environ.get(REAL)
    if not given:
        pytest.skip(f"{REAL} names no kubeconfig of a real API server")
    file = with_authority(Path(given), directory)
    content = yaml.safe_load(file.read_text())
    tokens = {each["name"]: each["user"]["token"] for each in content["users"]}
    url, admin = content["clusters"][0]["cluster"]["server"], session(tokens["admin"])
    admin.verify = str(content["clusters"][0]["cluster"]["certificate-authority"])
    grant(url, admin)
    return NodeSite(url, admin, Kubeconfig(file, "shipyard"), cleanup, page=400)


def grant(url: str, admin: requests.Session) -> None:
    """Give the user ``shipyard`` the rights of the manifest, as its service account would have them."""
    user = {"kind": "User", "name": "shipyard", "apiGroup": "rbac.authorization.k8s.io"}
    for manifest in manifests(RBAC):
        if "subjects" in manifest:
            manifest["subjects"] = [user]
        created = create(url, admin, manifest)
        assert created.status_code in (201, 409), created.text


def create(url: str, admin: requests.Session, manifest: Object) -> requests.Response:
    path = PLURALS[manifest["kind"]].format(manifest["metadata"].get("namespace", ""))
    return admin.post(f"{url}/{path}", json=manifest, timeout=PATIENCE)


def session(token: str = "") -> requests.Session:
    made = requests.Session()
    made.trust_env = False
    if token:
        made.headers["Authorization"] = f"Bearer {token}"
    return made


SITES: dict[str, Callable[[ExitStack, Path], NodeSite]] = {
    "simulator-1.20": simulated("1.20"),
    "simulator-1.31": simulated("1.31"),
    "real-kubernetes": real,
}
