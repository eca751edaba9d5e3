"""What a PodDisruptionBudget allows, as the disruption controller counts it, and the answer to an eviction. Pure."""

from collections.abc import Iterable, Mapping
from math import ceil

from shipyard_simulators.kubernetes.errors import ApiError
from shipyard_simulators.kubernetes.selectors import Object, selects

_MULTIPLE = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


def protects(budget: Object, pod: Object) -> bool:
    """Return whether the budget selects the pod. An empty selector selects nothing in policy/v1beta1."""
    selector = budget["spec"].get("selector")
    if not selector and budget["apiVersion"].endswith("v1beta1"):
        return False
    same = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and selects(selector, pod["metadata"].get("labels") or {})


def counted(budget: Object, pods: Iterable[Object], replicas: Mapping[str, int]) -> Object:
    """Return the budget with its status. ``replicas``: by the uid of a controller, the pods that it wants.

    A budget that needs the number of wanted pods allows nothing if a pod has no controller, as the real one does.
    """
    covered = [pod for pod in pods if protects(budget, pod)]
    current = sum(is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in covered)
    spec = budget["spec"]
    owners = {controller_of(pod) for pod in covered}
    of_controllers = sum(replicas.get(owner, 0) for owner in owners if owner)
    is_known = all(owner in replicas for owner in owners)
    if "maxUnavailable" in spec:
        expected = of_controllers
        desired = max(0, expected - _scaled(spec["maxUnavailable"], expected))
    elif isinstance(spec.get("minAvailable"), int):
        expected, desired, is_known = len(covered), spec["minAvailable"], True
    else:
        expected = of_controllers
        desired = _scaled(spec.get("minAvailable", 1), expected)
    allowed = max(0, current - desired) if expected > 0 and is_known else 0
    status = {
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "observedGeneration": budget["metadata"].get("generation", 1),
    }
    return {**budget, "status": status}


def check_eviction(pod: Object, budgets: Iterable[Object]) -> None:
    """Raise ApiError unless the pod may be evicted. ``budgets``: those that select it, with their status."""
    if pod["status"].get("phase") in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]:
        return
    protecting = list(budgets)
    if len(protecting) > 1:
        raise ApiError(500, "", _MULTIPLE)
    for budget in protecting:
        status = budget["status"]
        spared = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        met = status["currentHealthy"] >= status["desiredHealthy"] > 0
        if (not is_ready(pod) and (spared or met)) or status["disruptionsAllowed"] > 0:
            continue
        name, needed = budget["metadata"]["name"], status["desiredHealthy"]
        cause = f"The disruption budget {name} needs {needed} healthy pods and has {status['currentHealthy']} currently"
        causes = [{"reason": "DisruptionBudget", "message": cause}]
        raise ApiError(429, "TooManyRequests", _VIOLATED, details={"causes": causes})


def is_ready(pod: Object) -> bool:
    """Return whether the pod's condition Ready is true."""
    conditions = pod["status"].get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def controller_of(pod: Object) -> str:
    """Return the uid of the pod's controller, or nothing."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(each.get("uid")) for each in owners if each.get("controller")), "")


def _scaled(number: int | str, whole: int) -> int:
    """Return a number of pods, which may be written as a percentage; it is rounded up."""
    return number if isinstance(number, int) else ceil(int(number.rstrip("%")) * whole / 100)
