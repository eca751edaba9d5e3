"""An action whose step of the nodes has told what notes are made of."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shipyard_api.domain.actions import ActionId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName
from tests.factories import group, strategy
from tests.integration.api.contract.states import Stage
from tests.peer import Answer

NODES = "drydock_build.prepare_and_deploy_nodes"
BUILD_DATA = [{"node_name": "n2", "generator": "deploy:curtin", "data_element": "no root device"}]
A, N1, N2 = GroupName("a"), NodeName("n1"), NodeName("n2")
FACTS: tuple[Fact, ...] = (
    MembersKnown.of(strategy(group("a", critical=True)), {A: frozenset({N1, N2})}),
    PhaseStarted(A, Phase.PREPARE, (N1, N2), "job-1"),
    NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (N1, N2)),
    PhaseEnded(A, Phase.PREPARE, PhaseStatus.SUCCESS),
    PhaseStarted(A, Phase.DEPLOY, (N1, N2), "job-2"),
    NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N2,), reasons={N2: "no root device"}),
    PhaseEnded(A, Phase.DEPLOY, PhaseStatus.PARTIAL_SUCCESS, "1 of 2"),
)


def leave_notes(stage: Stage) -> dict[str, Any]:
    """Create the action, let its steps up to the nodes end well, and that one tell its story."""
    names = stage.create()
    now = datetime.now(UTC) + timedelta(seconds=1)
    while True:
        with stage.site.store.begin() as tx:
            claim = tx.turns.claim(ActionId(names["action"]), now=now, worker="w")
            assert claim is not None
            if claim.step == NODES:
                tx.turns.start_step(claim, {"v": 1}, now=now)
                tx.turns.record(claim, {"v": 2}, (JobStarted("x", "job-0"), *FACTS), now=now, wake_at=None)
                break
            tx.turns.start_step(claim, {"v": 1}, now=now)
            tx.turns.end_step(claim, StepState.SUCCESS, "", (), now=now)
    stage.site.drydock.on("GET /tasks/job-2", Answer(200, {"task_id": "job-2"}))
    stage.site.drydock.on("GET /nodes/n2/builddata", Answer(200, BUILD_DATA))
    notes = stage.site.viewer.get(f"/actions/{names['action']}/steps/{NODES}", verbosity=5).json["notes"]
    (leading,) = (one for one in notes if one["subject"] == "n2" and one["resolved_url_value"])
    own = stage.site.viewer.get(f"/actions/{names['action']}").json["notes"]
    return names | {"leading": leading["note_id"], "leading_nowhere": own[0]["note_id"], "nodes": NODES}
