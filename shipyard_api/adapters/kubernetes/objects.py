"""Kubernetes objects of a teardown, as values of the domain. Pure; raises ValueError for objects it cannot read."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.kubelet import Ready
from shipyard_api.domain.teardown.label_requirements import NodeFit, NodeTerm, Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget, Controller, DaemonSet, Pod, PodPhase, PodUid
from shipyard_api.ports.cluster_nodes import ClusterNode, KubeletStopper

POLICY_V1 = "policy/v1"
POLICY_V1BETA1 = "policy/v1beta1"  # the only one before 1.21

_MIRROR = "kubernetes.io/config.mirror"


def cluster_node(node: JsonObject, lease: JsonObject | None) -> ClusterNode:
    """Return a Node with its Lease, if it has one."""
    metadata, status = _part(node, "metadata"), _part(node, "status")
    addresses = (str(one.get("address") or "") for one in _objects(status, "addresses"))
    return ClusterNode(
        name=NodeName(_text(metadata, "name")),
        uid=_text(metadata, "uid"),
        version=_text(metadata, "resourceVersion"),
        cordoned=_part(node, "spec").get("unschedulable") is True,
        labels=_labels(metadata),
        addresses=tuple(dict.fromkeys(filter(None, addresses))),
        ready=_ready(status),
        renewed_at=_moment(_part(lease or {}, "spec").get("renewTime")),
    )


def pod(found: JsonObject) -> Pod:
    """Return a Pod. Claims of generic ephemeral volumes are named as Kubernetes names them."""
    metadata, spec, status = _part(found, "metadata"), _part(found, "spec"), _part(found, "status")
    name, volumes = _text(metadata, "name"), _objects(spec, "volumes")
    claims = (str(_part(one, "persistentVolumeClaim").get("claimName") or "") for one in volumes)
    ephemeral = (f"{name}-{one.get('name')}" for one in volumes if one.get("ephemeral"))
    owners = (one for one in _objects(metadata, "ownerReferences") if one.get("controller") is True)
    owner = next(owners, None)
    phases = {phase.value: phase for phase in PodPhase}
    return Pod(
        namespace=_text(metadata, "namespace"),
        name=name,
        uid=PodUid(_text(metadata, "uid")),
        phase=phases.get(str(status.get("phase")), PodPhase.UNKNOWN),
        ready=_ready(status) is Ready.TRUE,
        labels=_labels(metadata),
        controller=Controller(_text(owner, "kind"), _text(owner, "name")) if owner else None,
        mirror=_MIRROR in _part(metadata, "annotations"),
        local_data=any("emptyDir" in one for one in volumes),
        leaves_at=_moment(metadata.get("deletionTimestamp")),
        volumes=tuple(filter(None, (*claims, *ephemeral))),
        finalizers=tuple(map(str, metadata.get("finalizers") or ())),
    )


def budget(found: JsonObject, version: str) -> Budget:
    """Return a PodDisruptionBudget of this API version: an empty selector selects every pod, but none in v1beta1."""
    metadata, spec, status = _part(found, "metadata"), _part(found, "spec"), _part(found, "status")
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


def daemon_set(found: JsonObject) -> DaemonSet:
    """Return a DaemonSet with the nodes that its pod template wants."""
    metadata = _part(found, "metadata")
    template = _part(_part(_part(found, "spec"), "template"), "spec")
    required = _part(_part(template, "affinity"), "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None
    if isinstance(required, dict):
        terms = tuple(
            NodeTerm(_expressions(one, "matchExpressions"), _expressions(one, "matchFields"))
            for one in _objects(required, "nodeSelectorTerms")
        )
    wants = NodeFit(_equalities(template.get("nodeSelector")), terms)
    return DaemonSet(_text(metadata, "namespace"), _text(metadata, "name"), wants)


def kubelet_stopper(daemon_sets: Iterable[DaemonSet], pods: Iterable[Pod]) -> KubeletStopper | None:
    """Return the first DaemonSet whose node selector waits for the label, with the phase of its pod among ``pods``."""
    for found in sorted(daemon_sets, key=lambda one: (one.namespace, one.name)):
        if found.stops_kubelets:
            own = Controller("DaemonSet", found.name)
            phases = (one.phase.value for one in pods if (one.namespace, one.controller) == (found.namespace, own))
            return KubeletStopper(found.namespace, found.name, next(phases, ""))
    return None


def _ready(status: JsonObject) -> Ready:
    """Return the condition Ready, by its type: the order of the list depends on other writers."""
    values = {one.value: one for one in Ready}
    said = (one.get("status") for one in _objects(status, "conditions") if one.get("type") == "Ready")
    return values.get(str(next(said, None)), Ready.UNKNOWN)


def _selector(written: JsonObject) -> tuple[Requirement, ...]:
    return (*_equalities(written.get("matchLabels")), *_expressions(written, "matchExpressions"))


def _equalities(written: Any) -> tuple[Requirement, ...]:
    pairs = written.items() if isinstance(written, dict) else ()
    return tuple(Requirement(str(key), Operator.IN, (str(value),)) for key, value in pairs)


def _expressions(parent: JsonObject, key: str) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(_text(one, "key"), Operator(one.get("operator")), tuple(map(str, one.get("values") or ())))
        for one in _objects(parent, key)
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
    value = parent.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
