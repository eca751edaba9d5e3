"""What each node would run (seed 001, Data model impact; contract: fuel-task-graph, 5.2)."""

from typing import Any, ClassVar

import falcon

from shipyard_api.api.fuel import reading
from shipyard_api.api.fuel.graphs import READ
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.task_graph.layers import OwnerKind
from shipyard_api.usecases.software.node_facts import NodeFacts, ShowNodeFacts


class DeploymentDefaults:
    """The records of nodes, in the order in which they run."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, show: ShowNodeFacts) -> None:
        self._show = show

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with a record for each node in each group; `nodes` chooses some nodes."""
        cluster = reading.owner(OwnerKind.CLUSTER, owner_id)
        resp.media = [_record(node_facts) for node_facts in self._show(cluster.id, reading.separated(req, "nodes"))]


def _record(facts: NodeFacts) -> dict[str, Any]:
    tasks = [
        {
            "id": task.document["id"],
            "type": task.document["type"],
            "priority": task.priority,
            "uids": [str(facts.id)],
            "parameters": task.document.get("parameters", {}),
        }
        for task in facts.tasks
    ]
    return {
        "uid": str(facts.id),
        "name": facts.node,
        "role": facts.role,
        "priority": facts.priority,
        "tasks": tasks,
    }
