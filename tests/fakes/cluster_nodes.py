"""The nodes of a cluster in memory: pods that leave in their time, budgets, kubelets that die; a record of changes.

What is due happens when somebody looks. Time is the test's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.kubelet import Ready
from shipyard_api.domain.teardown.labels import DECOMMISSION_KEY, DECOMMISSION_VALUE, NodeFit, Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget, Controller, DaemonSet, Pod, PodUid
from shipyard_api.ports.cluster import ClusterNode, Eviction, EvictionOutcome, KubeletStopper, NodeDeletion, NodeLook
from shipyard_api.ports.errors import PeerError, Unavailable

T = TypeVar("T")

LEAVES_IN = timedelta(seconds=4)
STOPPER = DaemonSet(
    "kube-system", "kubelet-stopper", NodeFit((Requirement(DECOMMISSION_KEY, Operator.IN, (DECOMMISSION_VALUE,)),))
)


@dataclass
class FakeClusterNodes:
    """``pods``: by node. ``dead``: since when a node's kubelet has been dead. ``log``: every change, with its subject.

    ``stops_kubelets``: whether the DaemonSet is there. ``cleared``: called when a node loses its labels.
    """

    now: Callable[[], datetime]
    nodes: dict[NodeName, ClusterNode] = field(default_factory=dict)
    pods: dict[NodeName, list[Pod]] = field(default_factory=dict)
    budgets: list[Budget] = field(default_factory=list)
    daemon_sets: list[DaemonSet] = field(default_factory=list)
    dead: dict[NodeName, datetime] = field(default_factory=dict)
    stops_kubelets: bool = True
    cleared: Callable[[NodeName], None] = lambda _node: None
    log: list[tuple[str, str]] = field(default_factory=list)
    name: str = "Fake cluster"

    def __post_init__(self) -> None:
        self._failing: dict[str, list[tuple[PeerError, bool]]] = {}
        self._versions = itertools.count(1)

    # What tests do.

    def add(self, node: str, *pods: Pod, labels: Mapping[str, str] | None = None, uid: str = "") -> None:
        """Let a node be in the cluster."""
        name = NodeName(node)
        version = str(next(self._versions))
        held = {"kubernetes.io/hostname": node, **(labels or {})}
        self.nodes[name] = ClusterNode(
            name, uid or f"uid-{node}", version, cordoned=False, labels=held, addresses=(f"10.0.0.{node[1:]}", node)
        )
        self.pods[name] = list(pods)
        self.dead.pop(name, None)

    def kill(self, node: NodeName) -> None:
        """Let the kubelet of a node be dead from now on."""
        self.dead.setdefault(node, self.now())

    def break_next(self, method: str, *, after: bool = False) -> None:
        """Let the next call of the method raise Unavailable, before its effect or after."""
        self._failing.setdefault(method, []).append((Unavailable(self.name, method, "broken on purpose"), after))

    def changes(self, what: str) -> list[str]:
        """Return the subjects of all changes of this sort."""
        return [subject for one, subject in self.log if one == what]

    # The port.

    def node(self, name: NodeName) -> ClusterNode | None:
        lost = self._call("node")
        self._settle()
        found = self._node(name)
        return self._answer(found, lost)

    def look(self, name: NodeName) -> NodeLook | None:
        lost = self._call("look")
        self._settle()
        node = self._node(name)
        daemon_sets = (*self.daemon_sets, *([STOPPER] if self.stops_kubelets else []))
        look = node and NodeLook(node, tuple(self.pods[name]), tuple(self.budgets), daemon_sets, self.now())
        return self._answer(look, lost)

    def cordon(self, node: ClusterNode, *, label: str = "") -> None:
        lost = self._call("cordon")
        labels = {label: "cordoned"} if label else {}
        self._change(node.name, cordoned=True, labels={**node.labels, **labels})
        self.log.append(("cordon", node.name))
        self._answer(None, lost)

    def uncordon(self, node: ClusterNode, *, label: str) -> None:
        lost = self._call("uncordon")
        self._change(node.name, cordoned=False, labels={key: node.labels[key] for key in node.labels if key != label})
        self.log.append(("uncordon", node.name))
        self._answer(None, lost)

    def evict(self, pods: Sequence[Pod], *, grace: int) -> Mapping[PodUid, Eviction]:
        lost = self._call("evict")
        answers = {pod.uid: self._evict(pod) for pod in pods}
        return self._answer(answers, lost)

    def delete_pods(self, pods: Sequence[Pod], *, grace: int) -> None:
        lost = self._call("delete_pods")
        for pod in pods:
            gone = self._end(pod) if not grace else self._leaves(pod)
            if gone:
                self.log.append(("delete", str(pod)))
        self._answer(None, lost)

    def remove_labels(self, node: ClusterNode, keys: Collection[str]) -> bool:
        lost = self._call("remove_labels")
        held = self._node(node.name)
        changed = held is not None and held.version == node.version
        if held is not None and changed:
            self._change(node.name, labels={key: value for key, value in held.labels.items() if key not in keys})
            self.log.append(("clear", node.name))
            self.cleared(node.name)
        return self._answer(changed, lost)

    def set_labels(self, node: ClusterNode, labels: Mapping[str, str]) -> bool:
        lost = self._call("set_labels")
        held = self._node(node.name)
        changed = held is not None and held.version == node.version
        if held is not None and changed:
            self._change(node.name, labels={**held.labels, **labels})
            self.log.append(("label", node.name))
            if DECOMMISSION_KEY in labels and self.stops_kubelets:
                self._stop(node.name)
        return self._answer(changed, lost)

    def kubelet_stopper(self, name: NodeName) -> KubeletStopper | None:
        lost = self._call("kubelet_stopper")
        found = KubeletStopper("kube-system", "kubelet-stopper", "Running") if self.stops_kubelets else None
        return self._answer(found, lost)

    def delete_node(self, node: ClusterNode) -> NodeDeletion:
        lost = self._call("delete_node")
        held = self.nodes.get(node.name)
        if held is None or held.uid != node.uid:
            return self._answer(NodeDeletion.GONE if held is None else NodeDeletion.ANOTHER_NODE, lost)
        del self.nodes[node.name]
        self.log.append(("remove", node.name))
        if node.name not in self.dead:
            self.add(node.name, uid=f"{node.uid}-again")
        return self._answer(NodeDeletion.ACCEPTED, lost)

    # Inside.

    def _call(self, method: str) -> PeerError | None:
        failing = self._failing.get(method)
        if not failing:
            return None
        error, after = failing.pop(0)
        if not after:
            raise error
        return error

    @staticmethod
    def _answer(value: T, lost: PeerError | None) -> T:
        if lost is not None:
            raise lost
        return value

    def _node(self, name: NodeName) -> ClusterNode | None:
        held = self.nodes.get(name)
        if held is None:
            return None
        since = self.dead.get(name)
        silent = since is not None and self.now() - since > timedelta(seconds=40)
        return replace(held, ready=Ready.UNKNOWN if silent else Ready.TRUE, renewed_at=since or self.now())

    def _change(self, name: NodeName, **values: object) -> None:
        self.nodes[name] = replace(self.nodes[name], version=str(next(self._versions)), **values)  # type: ignore[arg-type]

    def _stop(self, name: NodeName) -> None:
        """Let the stopper's pod run on the node, and stop its kubelet: nothing confirms the pod's end any more."""
        uid = PodUid(f"uid-stopper-{name}-{next(self._versions)}")
        owner = Controller("DaemonSet", STOPPER.name)
        if not any(one.controller == owner for one in self.pods[name]):
            self.pods[name].append(Pod(STOPPER.namespace, f"{STOPPER.name}-{name}", uid, controller=owner))
        self.kill(name)

    def _end(self, pod: Pod) -> bool:
        """Let a pod be gone at once, as a deletion without grace does; return False if it was gone."""
        before = sum(map(len, self.pods.values()))
        self.pods = {name: [one for one in pods if one.uid != pod.uid] for name, pods in self.pods.items()}
        return sum(map(len, self.pods.values())) < before

    def _settle(self) -> None:
        for name, pods in self.pods.items():
            node = self.nodes.get(name)
            if node is None or name in self.dead:
                continue
            wanted = {(one.namespace, one.name): one.wants for one in self.daemon_sets}
            kept = []
            for pod in pods:
                owner = (pod.namespace, pod.controller.name) if pod.controller else None
                unwanted = owner in wanted and not wanted[owner].fits(name, node.labels)
                if pod.leaves_at is not None and pod.leaves_at <= self.now():
                    self._freed(pod)
                elif unwanted and pod.leaves_at is None:
                    kept.append(replace(pod, leaves_at=self.now() + LEAVES_IN))
                else:
                    kept.append(pod)
            self.pods[name] = kept

    def _freed(self, gone: Pod) -> None:
        """Let the budgets of a pod that has gone allow the next one: its replacement is ready elsewhere."""
        self.budgets = [
            replace(one, allowed=one.allowed + 1) if one.protects(gone) and not one.never_allows else one
            for one in self.budgets
        ]

    def _evict(self, pod: Pod) -> Eviction:
        protecting = [one for one in self.budgets if one.protects(pod)]
        if len(protecting) > 1:
            return Eviction(EvictionOutcome.NEVER, "more than one budget")
        if protecting and protecting[0].allowed < 1:
            return Eviction(EvictionOutcome.BLOCKED, f"budget {protecting[0].name} needs {protecting[0].desired} pods")
        if not self._leaves(pod):
            return Eviction(EvictionOutcome.GONE)
        self.budgets = [replace(one, allowed=one.allowed - 1) if one in protecting else one for one in self.budgets]
        self.log.append(("evict", str(pod)))
        return Eviction(EvictionOutcome.ACCEPTED)

    def _leaves(self, pod: Pod) -> bool:
        """Let a pod be on its way; return False if it is gone, or on its way already."""
        for pods in self.pods.values():
            for place, held in enumerate(pods):
                if held.uid == pod.uid and held.leaves_at is None:
                    pods[place] = replace(held, leaves_at=self.now() + LEAVES_IN)
                    return True
        return False
