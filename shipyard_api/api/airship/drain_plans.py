"""The drain plan of a node: what a drain would do now. Shipyard v1.0 has no such resource."""

from collections import Counter
from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship.statuses import messages
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded_peer
from shipyard_api.domain.teardown.drain_plan import PodClass
from shipyard_api.usecases.nodes.drain_plan import EtcdPlan, NodeDrainPlan, PlanDrain


class NodeDrain:
    """``/nodes/{node_name}/drain-plan``."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_drain_plan"}

    def __init__(self, plan: PlanDrain) -> None:
        self._plan = plan

    @threaded_peer
    def on_get(self, _req: falcon.Request, resp: falcon.Response, node_name: str) -> None:
        """Answer with the class of every pod, what would be lost, and what etcd still survives; changes nothing."""
        resp.media = drain_plan_entity(self._plan(node_name))


def drain_plan_entity(plan: NodeDrainPlan) -> dict[str, Any]:
    """Return a drain plan as JSON."""
    counts = Counter(pod.pod_class for pod in plan.drain.pods)
    return {
        "node": plan.node,
        "revision": plan.revision,
        "cordoned": plan.cordoned,
        "totals": {pod_class.value: counts[pod_class] for pod_class in PodClass},
        "pods": [pod.to_json() for pod in plan.drain.pods],
        "etcd": [_etcd(cluster) for cluster in plan.etcd],
        "findings": messages(plan.findings),
    }


def _etcd(plan: EtcdPlan) -> dict[str, Any]:
    return {
        "cluster": plan.cluster,
        "health": plan.health.value,
        "members": [member.name or member.id for member in plan.members],
        "survivable_failures": plan.survives,
        "survivable_failures_after": plan.survives_after,
    }
