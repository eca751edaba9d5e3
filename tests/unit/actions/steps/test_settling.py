"""What a move of a rollout leaves of its nodes."""

from typing import Any

from shipyard_api.actions.steps.settling import failures, unprepared
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName
from tests.unit.tables import every_row

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
A, B, C = map(GroupName, "abc")


def test_a_node_of_several_groups_goes_on_to_its_deployment_in_the_first_of_them() -> None:
    members = {A: frozenset({N2, N1}), B: frozenset({N2, N3}), C: frozenset({N1})}
    prepared = [
        NodesChanged(group, Phase.PREPARE, NodeStatus.PREPARED, nodes) for group, nodes in ((A, (N1, N2)), (B, (N3,)))
    ]
    assert unprepared(members, [N1, N2, N3]) == tuple(prepared)
    assert unprepared(members, []) == ()


@every_row(
    [
        # the status, what else is known of the change; whether the hardware of its nodes is asked for
        (NodeStatus.FAILURE, {}, True),
        (NodeStatus.FAILURE, {"timed_out": True}, True),
        (NodeStatus.FAILURE, {"held": True}, False),
        (NodeStatus.FAILURE, {"hardware": True}, False),
        (NodeStatus.SUCCESS, {}, False),
        (NodeStatus.PREPARED, {}, False),
    ]
)
def test_only_nodes_that_the_provisioner_worked_on_have_failed(
    status: NodeStatus, more: dict[str, Any], failed: bool
) -> None:
    change = NodesChanged(A, Phase.DEPLOY, status, (N1, N2), **more)
    other = NodesChanged(B, Phase.DEPLOY, NodeStatus.FAILURE, (N3,))
    assert failures((change, Noted("a topic", "a text"), other)) == ((N1, N2, N3) if failed else (N3,))
