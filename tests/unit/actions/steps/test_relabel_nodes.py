"""The labels of nodes: only what differs is set, and a node that fails does not keep the next from its turn."""

from __future__ import annotations

from typing import Any

import pytest

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.relabel_nodes import RelabelNodes
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Done, Failed, PeerFailure
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes

CLOCK = FakeClock()


@pytest.fixture
def cluster() -> FakeClusterNodes:
    cluster = FakeClusterNodes(CLOCK.now)
    cluster.add("n1", labels={"openstack": "enabled", "rack": "r0"})
    cluster.add("n2", labels={"rack": "r1"})
    return cluster


def run(cluster: FakeClusterNodes, **labels: dict[str, str]) -> tuple[Done | Failed, list[str]]:
    """Run the step; its state and effects are stored and read again on the way."""
    step, said = RelabelNodes(StepId("relabel_nodes"), cluster), []
    state = step.begin(ActionInputs.from_json({"labels": labels}))
    while isinstance(act := step.decide(step.load_state(state.to_json()), CLOCK.now()), Act):
        effect = step.load_effect(act.effect.to_json())
        assert step.touches(effect) == (effect.node,)
        report: Any
        try:
            report = step.perform(effect, Marker("m"))
        except PeerError as error:
            report = PeerFailure.of(error)
        folded = step.fold(state, effect, report, CLOCK.now())
        state, said = folded.state, [*said, *(fact.text for fact in folded.facts if isinstance(fact, Noted))]
    assert isinstance(act, Done | Failed)
    return act, said


def test_what_differs_is_set_and_nothing_is_removed(cluster: FakeClusterNodes) -> None:
    ended, said = run(cluster, n1={"rack": "r1", "zone": "a"}, n2={"rack": "r1"})

    assert ended == Done("2 node(s) have their labels")
    assert said == ["n1: set rack=r1, zone=a", "n2: all labels were set already"]
    labels = cluster.nodes[NodeName("n1")].labels
    assert labels == {"kubernetes.io/hostname": "n1", "openstack": "enabled", "rack": "r1", "zone": "a"}


def test_a_node_that_fails_is_named_and_the_others_have_their_turn(cluster: FakeClusterNodes) -> None:
    ended, said = run(cluster, n0={"rack": "r1"}, n1={"rack": "r1"})

    assert isinstance(ended, Failed)
    assert ended.reason.startswith("n0: ")
    assert "Kubernetes does not know the node" in ended.reason
    assert said == ["n1: set rack=r1"]
