"""The changes that controllers, the scheduler and kubelets make to pods, each at its own moment.

Only nodes of machines have a kubelet. Pods on other nodes change only by requests.
"""

from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from shipyard_simulators.kubernetes import disruption
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import another_uid
from shipyard_simulators.kubernetes.kinds import DAEMON_SETS, LEASES, PODS, REPLICA_SETS
from shipyard_simulators.kubernetes.node import Object, stamp
from shipyard_simulators.kubernetes.selectors import wants

LEASE_NAMESPACE = "kube-node-lease"
STOPPER = {"promenade-decomission": "enabled"}
MIRROR = "kubernetes.io/config.mirror"
CORDONED = "node.kubernetes.io/unschedulable"
_RENEWAL = 10  # nominal seconds between two renewals of a lease
_GRACE = 30  # seconds; the default grace period of a pod

Timer = tuple[str, str]
"""The kind of a planned change, and the uid of its pod or the name of its node."""


class Workloads:
    """The pods of a cluster, with their controllers, the scheduler and the kubelets."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._timers: dict[Timer, float] = {}
        self._seen = -1
        cluster.settle_workloads = self.settle

    def settle(self, now: float) -> None:
        """Apply everything that is due, in order of time."""
        self._reconcile(now)
        while self._timers:
            timer = min(self._timers, key=lambda each: self._timers[each])
            moment = self._timers[timer]
            if moment > now:
                return
            del self._timers[timer]
            self._happen(timer, moment)
            self._reconcile(moment)

    # For the API

    def delete(self, pod: Object, options: Object) -> Object:
        """Delete a pod, at once or after its grace period; return it as it is now. Raises ApiError for another uid."""
        metadata = pod["metadata"]
        wanted = (options.get("preconditions") or {}).get("uid")
        if wanted not in (None, metadata["uid"]):
            raise another_uid(metadata["name"], str(wanted), metadata["uid"], PODS)
        grace = options.get("gracePeriodSeconds")
        if grace is None:
            grace = pod["spec"].get("terminationGracePeriodSeconds", _GRACE)
        finished = pod["status"].get("phase") in ("Succeeded", "Failed")
        if not grace or finished or not pod["spec"].get("nodeName"):
            self._end(pod, self._cluster.clock.now())
            return pod
        if metadata.get("deletionGracePeriodSeconds", grace + 1) <= grace:
            return pod
        leaving = deepcopy(pod)
        now = self._cluster.clock.now()
        leaving["metadata"] |= {"deletionTimestamp": stamp(now + grace), "deletionGracePeriodSeconds": grace}
        return self._cluster.put(PODS, leaving)

    def evict(self, pod: Object, options: Object) -> None:
        """Evict a pod as its budgets allow. Raises ApiError."""
        found = self._cluster.store["poddisruptionbudgets"].values()
        protecting = [each for each in found if disruption.protects(each, pod)]
        disruption.check_eviction(pod, self._counted(protecting))
        self.delete(pod, options)

    def budgets(self) -> list[Object]:
        """Return all budgets with their present status."""
        return self._counted(list(self._cluster.store["poddisruptionbudgets"].values()))

    def _counted(self, budgets: list[Object]) -> list[Object]:
        """Return budgets with their present status."""
        controllers = self._cluster.objects(REPLICA_SETS).values()
        replicas = {each["metadata"]["uid"]: each["spec"].get("replicas", 1) for each in controllers}
        by_namespace: dict[str, list[Object]] = {}
        for pod in self._pods() if budgets else ():
            by_namespace.setdefault(pod["metadata"]["namespace"], []).append(pod)
        return [
            disruption.counted(each, by_namespace.get(each["metadata"]["namespace"], ()), replicas) for each in budgets
        ]

    def leases(self) -> list[Object]:
        """Return all leases: those that kubelets of machines renew, and those that clients wrote."""
        clock, written = self._cluster.clock, dict(self._cluster.objects(LEASES))
        scale = min(1.0, max(clock.scaled(1), 1e-6))
        for name, machine in self._cluster.machines.items():
            if name not in self._cluster.nodes:
                continue
            until = clock.now() if machine.stopped is None else machine.stopped
            every = max(clock.scaled(_RENEWAL), 1e-6)
            renewed = until - until % every
            # Its age is in nominal seconds: clients compare it with a fixed number.
            shown = clock.now() - (clock.now() - renewed) / scale
            written[LEASE_NAMESPACE, name] = _lease(self._cluster.nodes[name], shown)
        return [written[key] for key in sorted(written)]

    # Background work

    def _happen(self, timer: Timer, moment: float) -> None:
        what, subject = timer
        if what == "stop_kubelet":
            self._cluster.stop_kubelet(subject, moment)
            return
        pod = next((each for each in self._pods() if each["metadata"]["uid"] == subject), None)
        # Controllers delete pods whether a kubelet confirms their end or not.
        if pod is None or not (what == "move" or self._has_kubelet(pod)):
            return
        if what == "start":
            self._cluster.put(PODS, _running(pod, moment))
        elif what == "stop":
            self._end(pod, moment)
        else:
            self.delete(pod, {})

    def _reconcile(self, moment: float) -> None:
        """Run controllers, scheduler and kubelets once, unless nothing has changed."""
        if self._seen == self._cluster.version:
            return
        for node in list(self._cluster.nodes.values()):
            self._taint(node, moment)
        for pod in self._pods():
            name = pod["spec"].get("nodeName")
            if name and name not in self._cluster.nodes:
                self._end(pod, moment)
        for controller in list(self._cluster.objects(REPLICA_SETS).values()):
            self._replicate(controller, moment)
        for controller in list(self._cluster.objects(DAEMON_SETS).values()):
            self._spread(controller, moment)
        self._schedule(moment)
        for pod in self._pods():
            self._care(pod, moment)
        self._seen = self._cluster.version

    def _taint(self, node: Object, moment: float) -> None:
        """Add the taint of a cordoned node, or remove it from another one."""
        spec = node["spec"]
        taints = [each for each in spec.get("taints") or () if each.get("key") != CORDONED]
        is_tainted = len(taints) != len(spec.get("taints") or ())
        if is_tainted == bool(spec.get("unschedulable")):
            return
        if not is_tainted:
            taints.append({"key": CORDONED, "effect": "NoSchedule", "timeAdded": stamp(moment)})
        rest = {key: value for key, value in spec.items() if key != "taints"}
        self._cluster.replace(
            node["metadata"]["name"],
            {**node, "metadata": dict(node["metadata"]), "spec": rest | ({"taints": taints} if taints else {})},
        )

    def _replicate(self, controller: Object, moment: float) -> None:
        own = [pod for pod in self._pods() if disruption.controller_of(pod) == controller["metadata"]["uid"]]
        active = sum(_is_active(pod) for pod in own)
        for _ in range(controller["spec"].get("replicas", 1) - active):
            self._cluster.put(PODS, _pod_of(controller, "ReplicaSet", moment))

    def _spread(self, controller: Object, moment: float) -> None:
        """Create a pod on each selected node of a machine; delete the pods of other nodes after a delay."""
        uid, template = controller["metadata"]["uid"], controller["spec"]["template"].get("spec", {})
        own = [pod for pod in self._pods() if disruption.controller_of(pod) == uid]
        wanted = {
            name
            for name, node in self._cluster.nodes.items()
            if wants(template, name, node["metadata"].get("labels") or {})
        }
        served = {pod["spec"]["nodeName"] for pod in own if _is_active(pod)}
        for name in sorted(wanted & self._cluster.machines.keys() - served):
            pod = _pod_of(controller, "DaemonSet", moment)
            pod["spec"]["nodeName"] = name
            self._cluster.put(PODS, pod)
        for pod in own:
            timer = ("move", pod["metadata"]["uid"])
            if pod["spec"]["nodeName"] in wanted or not _is_active(pod):
                self._timers.pop(timer, None)
            else:
                self._timers.setdefault(timer, moment + self._duration("move_daemons"))

    def _schedule(self, moment: float) -> None:
        """Bind pods without a node to ready nodes that are not cordoned, the emptiest first."""
        load = Counter(pod["spec"].get("nodeName") for pod in self._pods())
        free = [name for name, node in sorted(self._cluster.nodes.items()) if _takes_pods(node)]
        for pod in self._pods():
            if pod["spec"].get("nodeName") or not _is_active(pod):
                continue
            candidates = [name for name in free if wants(pod["spec"], name, _labels(self._cluster.nodes[name]))]
            if candidates:
                bound = deepcopy(pod)
                bound["spec"]["nodeName"] = min(candidates, key=lambda name: load[name])
                load[bound["spec"]["nodeName"]] += 1
                self._cluster.put(PODS, bound)
                self._cluster.note("pod_bound", bound["spec"]["nodeName"], moment, pod=_path(bound))

    def _care(self, pod: Object, moment: float) -> None:
        """Plan the kubelet's next change of a pod: start, stop, or the stop of the kubelet itself."""
        uid, phase = pod["metadata"]["uid"], pod["status"].get("phase")
        if not self._has_kubelet(pod):
            return
        if "deletionTimestamp" in pod["metadata"]:
            own = min(self._duration("stop_pods"), float(pod["metadata"]["deletionGracePeriodSeconds"]))
            self._timers.setdefault(("stop", uid), moment + own)
        elif phase == "Pending":
            self._timers.setdefault(("start", uid), moment + self._duration("start_pods"))
        elif phase == "Running" and STOPPER.items() <= (pod["spec"].get("nodeSelector") or {}).items():
            timer = ("stop_kubelet", pod["spec"]["nodeName"])
            self._timers.setdefault(timer, moment + self._duration("stop_kubelet"))

    def _has_kubelet(self, pod: Object) -> bool:
        machine = self._cluster.machines.get(pod["spec"].get("nodeName", ""))
        return machine is not None and machine.stopped is None and machine.name in self._cluster.nodes

    def _end(self, pod: Object, moment: float) -> None:
        uid = pod["metadata"]["uid"]
        for what in ("start", "stop", "move"):
            self._timers.pop((what, uid), None)
        self._cluster.drop(PODS, pod, moment)
        metadata = pod["metadata"]
        if MIRROR in (metadata.get("annotations") or {}) and self._has_kubelet(pod):
            # The kubelet still runs the static pod, and mirrors it again.
            kept = {key: value for key, value in metadata.items() if not key.startswith("deletion")}
            again = {"uid": str(uuid4()), "creationTimestamp": stamp(moment)}
            self._cluster.put(PODS, {**pod, "metadata": kept | again})

    def _pods(self) -> list[Object]:
        return list(self._cluster.objects(PODS).values())

    def _duration(self, name: str) -> float:
        return self._cluster.clock.scaled(self._cluster.scenario.durations[name])


def _pod_of(controller: Object, kind: str, moment: float) -> Object:
    """Return a new pod of a controller, not bound to a node yet."""
    template, owner = deepcopy(controller["spec"]["template"]), controller["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner["name"], "uid": owner["uid"], "controller": True}
    metadata = {
        "name": f"{owner['name']}-{uuid4().hex[:5]}",
        "namespace": owner["namespace"],
        "uid": str(uuid4()),
        "creationTimestamp": stamp(moment),
        "labels": dict(template.get("metadata", {}).get("labels") or {}),
        "ownerReferences": [reference],
    }
    spec = template.get("spec", {})
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _running(pod: Object, moment: float) -> Object:
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": stamp(moment)}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    status = {"phase": "Running", "conditions": conditions, "startTime": stamp(moment)}
    return {**pod, "metadata": dict(pod["metadata"]), "status": {**pod["status"], **status}}


def _lease(node: Object, renewed: float) -> Object:
    name = node["metadata"]["name"]
    moment = f"{datetime.fromtimestamp(renewed, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    metadata: dict[str, Any] = {key: node["metadata"][key] for key in ("uid", "creationTimestamp", "resourceVersion")}
    return {
        "kind": "Lease",
        "apiVersion": LEASES.api_version,
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE, **metadata},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": moment},
    }


def _is_active(pod: Object) -> bool:
    """Return whether its controller counts the pod: it is not being deleted and has not ended."""
    return "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Succeeded", "Failed")


def _takes_pods(node: Object) -> bool:
    return not node["spec"].get("unschedulable") and disruption.is_ready(node)


def _labels(node: Object) -> dict[str, str]:
    return node["metadata"].get("labels") or {}


def _path(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
