"""The clusters that the suite of the port runs over: the fake, and the adapter before the simulator or a real one.

The simulator and the real API server are driven by the same foreign client, over the same wire.
"""

import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.core_v1 import NodeSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node, NodeStatus
from lightkube.types import PatchType

from shipyard_api.adapters.kubernetes.access import Access, Address, Kubeconfig
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.cluster import Cluster
from shipyard_simulators.kubernetes import simulator as kubernetes_simulator
from tests.fakes.cluster import FakeCluster

REAL = "KUBECONFIG_FOR_TESTS"
PAGE = 4
HOLD = "shipyard.test/hold"

Condition = Mapping[str, str]


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Condition:
    return {"type": kind, "status": status, "reason": reason, "message": message}


READY = condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")


@dataclass
class Site:
    """A cluster, and what a test lets happen in it."""

    cluster: Cluster
    prefix: str = ""

    def name(self, node: str) -> NodeName:
        """What the node is called; a real cluster is shared with whoever else uses it."""
        return NodeName(self.prefix + node)

    def add(self, node: str, *conditions: Condition, hostname: str = "") -> NodeName:
        """Add a node that says this of itself; return what the design would call it."""
        raise NotImplementedError

    def hold_and_delete(self, node: str) -> None:
        """Let a node be deleted, and something hold it back."""
        raise NotImplementedError


class FakeSite(Site):
    """The cluster in memory."""

    def __init__(self, _cleanup: ExitStack, _directory: Path) -> None:
        self.fake = FakeCluster()
        super().__init__(self.fake)

    def add(self, node: str, *conditions: Condition, hostname: str = "") -> NodeName:
        [said] = [each for each in conditions if each["type"] == "Ready"] or [condition("Ready", "Unknown")]
        ready = said["status"] == "True"
        why = "" if ready else f"{said['reason']}: {said['message']}"
        name = NodeName(hostname or node)
        self.fake.members[name] = self.fake.members[NodeName(name.upper())] = ObservedMember(ready, why)
        return name

    def hold_and_delete(self, node: str) -> None:
        self.fake.join(NodeName(node), ready=False, why="being deleted")


class ApiSite(Site):
    """Our adapter before an API server, whose nodes come and go by a client that is not ours."""

    def __init__(self, access: Access, config: KubeConfig, cleanup: ExitStack, prefix: str = "") -> None:
        client = KubernetesClient(access, first_pause=0.0, page=PAGE)
        cleanup.callback(client.close)
        super().__init__(KubernetesCluster(client), prefix)
        self.foreign = cleanup.enter_context(Client(config, trust_env=False, timeout=httpx2.Timeout(30)))
        self._added: list[str] = []
        cleanup.callback(self._remove_all)

    def add(self, node: str, *conditions: Condition, hostname: str = "") -> NodeName:
        name = self.name(node)
        wanted = {"labels": {"kubernetes.io/hostname": self.name(hostname)}} if hostname else {}
        self._added.append(name)
        self.foreign.create(Node(metadata=ObjectMeta(name=name, **wanted), spec=NodeSpec()))
        self.say(node, conditions)
        return self.name(hostname or node)

    def say(self, node: str, conditions: Iterable[Condition]) -> None:
        body: Any = {"status": {"conditions": list(conditions)}}
        self.foreign.patch(NodeStatus, self.name(node), body, patch_type=PatchType.MERGE)

    def hold_and_delete(self, node: str) -> None:
        self._hold(self.name(node), [HOLD])
        self.foreign.delete(Node, self.name(node))

    def _hold(self, name: str, finalizers: list[str] | None) -> None:
        self.foreign.patch(Node, name, {"metadata": {"finalizers": finalizers}}, patch_type=PatchType.MERGE)

    def _remove_all(self) -> None:
        for name in self._added:
            try:
                self._hold(name, None)
                self.foreign.delete(Node, name)
            except ApiError as error:
                if error.status.code != 404:
                    raise


def simulated(cleanup: ExitStack, _directory: Path) -> Site:
    simulator = cleanup.enter_context(kubernetes_simulator.running(token="s3cret"))
    access = Address(simulator.url, token="s3cret")
    config = KubeConfig.from_dict(
        {
            "clusters": [{"name": "one", "cluster": {"server": simulator.url}}],
            "users": [{"name": "one", "user": {"token": "s3cret"}}],
            "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
            "current-context": "one",
        }
    )
    return ApiSite(access, config, cleanup)


def real(cleanup: ExitStack, directory: Path) -> Site:
    given = os.environ.get(REAL)
    if not given:
        pytest.skip(f"{REAL} names no kubeconfig of a real API server")
    access = Kubeconfig(with_authority(Path(given), directory))
    return ApiSite(access, KubeConfig.from_file(given), cleanup, prefix=f"t{uuid.uuid4().hex[:8]}-")


def with_authority(kubeconfig: Path, directory: Path) -> Path:
    """Return a kubeconfig that can be used by who verifies certificates.

    An API server that is started without any makes its own, in ``certs`` beside the kubeconfig of the recipe.
    """
    content = yaml.safe_load(kubeconfig.read_text())
    for each in content["clusters"]:
        if each["cluster"].pop("insecure-skip-tls-verify", False):
            each["cluster"]["certificate-authority"] = str(kubeconfig.parent.absolute() / "certs" / "apiserver.crt")
    written = directory / "kubeconfig"
    written.write_text(yaml.safe_dump(content))
    return written


SITES: dict[str, Callable[[ExitStack, Path], Site]] = {
    "fake": FakeSite,
    "simulator": simulated,
    "real-kubernetes": real,
}
