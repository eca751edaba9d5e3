"""What Kubernetes says of its nodes, in terms of the port. Pure."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.json_types import JsonObject, objects
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.kubelet import Ready
from shipyard_api.domain.teardown.labels import NodeFit, NodeTerm, Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget, Controller, DaemonSet, Pod, PodPhase, PodUid
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.cluster import ClusterNode, KubeletStopper

LONGEST_WHY = 500  # characters

_HOSTNAME = "kubernetes.io/hostname"


def readiness(
    objects: Iterable[JsonObject], nodes: Collection[NodeName], scrubber: Scrubber
) -> dict[NodeName, ObservedMember]:
    """Return the readiness of each of the nodes, from the Node objects of the whole cluster.

    An object is a node's if it has its name, in lower case as Kubernetes wants names, else if it is labelled as the
    host of that name.
    """
    by_name: dict[str, JsonObject] = {}
    by_host: dict[str, JsonObject] = {}
    for each in objects:
        metadata = _mapping(each.get("metadata"))
        by_name[str(metadata.get("name") or "")] = each
        by_host.setdefault(str(_mapping(metadata.get("labels")).get(_HOSTNAME) or "").lower(), each)
    return {node: _readiness(by_name.get(node.lower()) or by_host.get(node.lower()), scrubber) for node in nodes}


def _readiness(node: JsonObject | None, scrubber: Scrubber) -> ObservedMember:
    if node is None:
        return ObservedMember(ready=False, why="not in the cluster", joined=False)
    ready, why = _ready(node)
    metadata = _mapping(node.get("metadata"))
    info = _mapping(_mapping(node.get("status")).get("nodeInfo"))
    return ObservedMember(
        ready,
        "" if ready else one_line(scrubber(why), LONGEST_WHY),
        cordoned=_mapping(node.get("spec")).get("unschedulable") is True,
        uid=str(metadata.get("uid") or ""),
        machine=str(info.get("machineID") or ""),
        labels=_mapping(metadata.get("labels")),
    )


def _ready(node: JsonObject) -> tuple[bool, str]:
    """Return whether a node is ready, and if not, why."""
    leaving = _mapping(node.get("metadata")).get("deletionTimestamp")
    if leaving:
        return False, f"being deleted since {leaving}"
    conditions = _mapping(node.get("status")).get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        # By its type: the order of the list depends on other writers of conditions.
        if isinstance(condition, dict) and condition.get("type") == "Ready":
            return (True, "") if condition.get("status") == "True" else (False, _why(condition))
    return False, "in the cluster, but its kubelet has not said whether it is ready"


def _why(condition: JsonObject) -> str:
    reason = ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
    return reason or f"its condition Ready is {condition.get('status')}"


def one_line(text: str, longest: int) -> str:
    """Return the text in one line, without control characters, cut at a number of characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _mapping(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


POLICY_V1 = "policy/v1"
POLICY_V1BETA1 = "policy/v1beta1"  # the only one before 1.21

_MIRROR = "kubernetes.io/config.mirror"


def cluster_node(node: JsonObject, lease: JsonObject | None) -> ClusterNode:
    """Return a Node with its Lease, if any."""
    metadata, status = _part(node, "metadata"), _part(node, "status")
    addresses = (str(address.get("address") or "") for address in _objects(status, "addresses"))
    return ClusterNode(
        name=NodeName(_text(metadata, "name")),
        uid=_text(metadata, "uid"),
        version=_text(metadata, "resourceVersion"),
        cordoned=_part(node, "spec").get("unschedulable") is True,
        labels=_labels(metadata),
        addresses=tuple(dict.fromkeys(filter(None, addresses))),
        ready=_ready_condition(status),
        renewed_at=_moment(_part(lease or {}, "spec").get("renewTime")),
    )


def pod(entry: JsonObject) -> Pod:
    """Return a Pod. Claims of generic ephemeral volumes are named as Kubernetes names them."""
    metadata, spec, status = _part(entry, "metadata"), _part(entry, "spec"), _part(entry, "status")
    name, volumes = _text(metadata, "name"), _objects(spec, "volumes")
    claims = (str(_part(volume, "persistentVolumeClaim").get("claimName") or "") for volume in volumes)
    ephemeral = (f"{name}-{volume.get('name')}" for volume in volumes if volume.get("ephemeral"))
    owners = (owner for owner in _objects(metadata, "ownerReferences") if owner.get("controller") is True)
    owner = next(owners, None)
    phases = {phase.value: phase for phase in PodPhase}
    return Pod(
        namespace=_text(metadata, "namespace"),
        name=name,
        uid=PodUid(_text(metadata, "uid")),
        phase=phases.get(str(status.get("phase")), PodPhase.UNKNOWN),
        ready=_ready_condition(status) is Ready.TRUE,
        labels=_labels(metadata),
        controller=Controller(_text(owner, "kind"), _text(owner, "name")) if owner else None,
        mirror=_MIRROR in _part(metadata, "annotations"),
        local_data=any("emptyDir" in volume for volume in volumes),
        leaves_at=_moment(metadata.get("deletionTimestamp")),
        volumes=tuple(filter(None, (*claims, *ephemeral))),
        finalizers=tuple(map(str, metadata.get("finalizers") or ())),
    )


def budget(entry: JsonObject, version: str) -> Budget:
    """Return a PodDisruptionBudget of this API version: an empty selector selects every pod, but none in v1beta1."""
    metadata, spec, status = _part(entry, "metadata"), _part(entry, "spec"), _part(entry, "status")
    written = spec.get("selector")
    selects_nothing = not isinstance(written, dict) or (
        version == POLICY_V1BETA1 and not (written.get("matchLabels") or written.get("matchExpressions"))
    )
    return Budget(
        namespace=_text(metadata, "namespace"),
        name=_text(metadata, "name"),
        selector=None if selects_nothing else _selector(_part(spec, "selector")),
        allowed=_number(status, "disruptionsAllowed"),
        desired=_number(status, "desiredHealthy"),
        current=_number(status, "currentHealthy"),
        expected=_number(status, "expectedPods"),
        current_status=_number(status, "observedGeneration") >= _number(metadata, "generation"),
        spares_unready=spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )


def daemon_set(entry: JsonObject) -> DaemonSet:
    """Return a DaemonSet with the nodes that its pod template wants."""
    metadata = _part(entry, "metadata")
    template = _part(_part(_part(entry, "spec"), "template"), "spec")
    required = _part(_part(template, "affinity"), "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None
    if isinstance(required, dict):
        terms = tuple(
            NodeTerm(_expressions(term, "matchExpressions"), _expressions(term, "matchFields"))
            for term in _objects(required, "nodeSelectorTerms")
        )
    wants = NodeFit(_equalities(template.get("nodeSelector")), terms)
    return DaemonSet(_text(metadata, "namespace"), _text(metadata, "name"), wants)


def kubelet_stopper(daemon_sets: Iterable[DaemonSet], pods: Iterable[Pod]) -> KubeletStopper | None:
    """Return the first DaemonSet whose node selector waits for the label, with the phase of its pod among ``pods``."""
    for stopper in sorted(daemon_sets, key=lambda daemon: (daemon.namespace, daemon.name)):
        if stopper.stops_kubelets:
            owner = Controller("DaemonSet", stopper.name)
            phases = (
                candidate.phase.value
                for candidate in pods
                if (candidate.namespace, candidate.controller) == (stopper.namespace, owner)
            )
            return KubeletStopper(stopper.namespace, stopper.name, next(phases, ""))
    return None


def _ready_condition(status: JsonObject) -> Ready:
    """Return the condition Ready, by its type: the order of the list depends on other writers."""
    values = {ready.value: ready for ready in Ready}
    said = (condition.get("status") for condition in _objects(status, "conditions") if condition.get("type") == "Ready")
    return values.get(str(next(said, None)), Ready.UNKNOWN)


def _selector(written: JsonObject) -> tuple[Requirement, ...]:
    return (*_equalities(written.get("matchLabels")), *_expressions(written, "matchExpressions"))


def _equalities(written: Any) -> tuple[Requirement, ...]:
    pairs = written.items() if isinstance(written, dict) else ()
    return tuple(Requirement(str(key), Operator.IN, (str(value),)) for key, value in pairs)


def _expressions(parent: JsonObject, key: str) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(_text(entry, "key"), Operator(entry.get("operator")), tuple(map(str, entry.get("values") or ())))
        for entry in _objects(parent, key)
    )


def _labels(metadata: JsonObject) -> dict[str, str]:
    return {str(key): str(value) for key, value in _part(metadata, "labels").items()}


def _moment(written: Any) -> datetime | None:
    """Return a moment in UTC; None without one."""
    if not written:
        return None
    moment = datetime.fromisoformat(str(written))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _text(parent: JsonObject, key: str) -> str:
    value = parent.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"an object without {key}")
    return value


def _number(parent: JsonObject, key: str) -> int:
    value = parent.get(key) or 0
    if not isinstance(value, int):
        raise ValueError(f"{key} is not a whole number")  # noqa: TRY004  # the API server's fault, not the caller's
    return value


def _part(parent: JsonObject, key: str) -> JsonObject:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _objects(parent: JsonObject, key: str) -> list[JsonObject]:
    return objects(parent.get(key))
