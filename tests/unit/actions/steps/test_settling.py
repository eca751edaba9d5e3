"""What a move of a rollout leaves of its nodes."""

from shipyard_api.actions.steps.settling import unprepared
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
A, B, C = map(GroupName, "abc")


def test_a_node_of_several_groups_goes_on_to_its_deployment_in_the_first_of_them() -> None:
    members = {A: frozenset({N2, N1}), B: frozenset({N2, N3}), C: frozenset({N1})}
    prepared = [
        NodesChanged(group, Phase.PREPARE, NodeStatus.PREPARED, nodes) for group, nodes in ((A, (N1, N2)), (B, (N3,)))
    ]
    assert unprepared(members, [N1, N2, N3]) == tuple(prepared)
    assert unprepared(members, []) == ()
