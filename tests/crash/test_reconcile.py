"""A job at Drydock of which only a person knows whose it is, judged by Drydock's own log."""

import uuid
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt
from shipyard_api.ports.provisioner import JobId, Marker, Operation, Work
from shipyard_api.usecases.actions.reconcile import ReconcileAction
from shipyard_api.usecases.callers import Caller
from tests.factories import group_entry
from tests.redeploy_world import RedeployWorld
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import SimulatedWorld, Site
from tests.two_histories import deliver, forget, keep

NODES = ("n1", "n2", "n3")
OPERATOR = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))
PATIENCE = 50  # deliveries; a deployment takes fewer


def site(groups_at_once: int) -> Site:
    groups = [
        group_entry("first", critical=True, selectors=[{"node_names": ["n1", "n2"]}]),
        group_entry("second", selectors=[{"node_names": ["n3"]}]),
    ]
    mode = {"max_parallel_groups": groups_at_once}
    return Site({name: {} for name in NODES}, scenario({}, {}), groups, mode)


def prepare(world: SimulatedWorld, *nodes: str) -> JobId:
    """Create a task beside the action, from its design."""
    provisioner: Any = world.provisioner
    design = provisioner.design_reference(1)
    job: JobId = provisioner.submit(
        Marker(str(uuid.uuid4())), Work(Operation.PREPARE_NODES, design, tuple(map(NodeName, nodes)))
    )
    return job


def begun(world: SimulatedWorld, phase: str) -> list[str]:
    return sorted(one.node for one in world.peer.begun() if one.phase == phase)


def notes(world: SimulatedWorld) -> list[str]:
    with world.store().begin() as tx:
        entries = tx.journal.entries(world.action, ["noted"])
    return [getattr(one.fact, "text", "") for one in entries if getattr(one.fact, "topic", "").startswith("History")]


def doubts(world: SimulatedWorld | RedeployWorld, reconcile: ReconcileAction) -> Sequence[Doubt]:
    """Return what an operator is asked, once something is."""
    for _ in range(PATIENCE):
        assert deliver(world)
        if held := reconcile.of(world.action).doubts:
            return held
    raise AssertionError(world.told())


@pytest.mark.parametrize(("answer", "groups_at_once"), [("ours", 2), ("others", 1)])
def test_a_job_with_further_nodes_waits_for_an_answer_and_is_taken_up_or_not(
    database_url: str, copies: list[str], answer: str, groups_at_once: int
) -> None:
    world = SimulatedWorld.in_emptied(database_url, site=site(groups_at_once), make_peer=partial(PEERS["drydock"]))
    with closing(world):
        assert deliver(world)
        keep(world, copies)
        job = prepare(world, "n1", "n3")
        forget(world, copies)
        reconcile = ReconcileAction(world.store())
        held = doubts(world, reconcile)

        assert [(one.job, one.nodes) for one in held[0].jobs] == [(job, ("n1", "n3"))]
        assert held[0].nodes == ("n1", "n2")
        with world.store().begin() as tx:
            record = tx.actions.get(world.action)
        assert record is not None
        assert record.waiting_for is not None
        assert record.waiting_for.what == f"answers: shipyard reconcile {world.action}"
        assert set(begun(world, "prepare")) <= {"n1", "n3"}  # by that job alone

        assert reconcile.answer(world.action, {answer: [job]}, OPERATOR).doubts == []
        assert not all(deliver(world) for _ in range(4 * PATIENCE))

        told = world.told()
        assert world.ending()[0] == RunState.SUCCESS.value, told
        own = [] if answer == "ours" else ["n1", "n3"]
        assert begun(world, "prepare") == sorted(["n1", "n2", "n3", *own]), told
        assert begun(world, "deploy") == ["n1", "n2", "n3"], told
        said = {"ours": f"ann answered: {job} is this action's", "others": f"ann answered: {job} is not this action's"}
        assert said[answer] in notes(world)
        assert sum("shipyard reconcile" in note for note in notes(world)) == 1


def test_a_teardown_waits_while_a_job_names_its_node_and_a_stranger(database_url: str, copies: list[str]) -> None:
    world = RedeployWorld.deployed(database_url, "drydock")
    with closing(world):
        world.create(ActionName("redeploy_server"), target_nodes="n1")
        assert deliver(world)
        keep(world, copies)
        job = prepare(world, "n1", "n2")
        forget(world, copies)
        reconcile = ReconcileAction(world.store())
        held = doubts(world, reconcile)
        assert [(one.operation, one.nodes) for one in held] == [("destroy_nodes", ("n1",))]
        assert world.peer.destroyed() == []

        reconcile.answer(world.action, {"others": [job]}, OPERATOR)
        assert not all(deliver(world) for _ in range(4 * PATIENCE))
        assert world.state() is RunState.SUCCESS, world.told()
        assert [one.node for one in world.peer.destroyed()] == ["n1"]
