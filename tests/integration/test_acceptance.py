"""Acceptance tasks of groups, from the commit to the end of deploy_site; how nodes run them is in the unit tests."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.errors import InvalidDesign
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.task_graph.layers import Layer, ReleaseId
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.software.results import ReadTaskResults
from tests.crash.calm import accepting
from tests.world import World


def without_graph(world: World) -> None:
    with world.store().begin() as tx:
        release = tx.software.release(ReleaseId(1))
        assert release
        tx.software.save_release(replace(release, layer=Layer()))


@pytest.fixture
def world(worlds: Callable[..., World]) -> World:
    return worlds(**accepting())


def test_nodes_that_fail_a_task_have_failed_and_the_criteria_decide(world: World) -> None:
    world.run(world.worker())

    state, _, groups, nodes, *_ = world.ending()
    assert (state, [status for _, status, *_ in groups]) == (RunState.SUCCESS, ["success", "success"])
    assert [name for name, status, *_ in nodes if status is NodeStatus.SUCCESS] == ["n0", "n3"]
    with world.store().begin() as tx:
        found = tx.actions.nodes(world.action, status=(), group=(), after="", limit=9)
        results = [(one.node, one.task, one.status) for one in tx.task_results.of(world.action)]
    details = {one.name: one.detail for one in found}
    assert details["n2"] == "acceptance task disk: exit status 1; its output ends with: no link"
    assert results[0] == ("n0", "disk", TaskStatus.SUCCESS)
    assert world.tasks
    output = ReadTaskResults(world.store(), world.tasks).output(world.action, "disk", "n2", offset=0, limit=99)[1]
    assert output.text == "no\nlink\n"
    assert (NodeName("n2"), "net") not in {(node, task) for node, task, _ in results}


def test_a_task_that_is_not_there_is_refused_at_commit_and_creation_and_fails_the_step_later(world: World) -> None:
    check = world.check()
    request = ActionRequest(ActionName("deploy_site"), {}, None)
    assert check.with_peers(check(request)).refusal is None
    without_graph(world)
    assert [one.path for one in check.check_acceptance(check(request).revision or 0)] == [
        "/groups/0/accept/0",
        "/groups/0/accept/1",
        "/groups/1/accept/0",
    ]
    assert (refusal := check.with_peers(check(request)).refusal)
    assert refusal.kind is InvalidDesign

    world.run(world.worker())
    with world.store().begin() as tx:
        (failed,) = [one for one in tx.actions.steps([world.action])[world.action] if one.state.value == "failed"]
    assert failed.detail.startswith("the acceptance tasks of the groups cannot run: Deployment group 'first'")
    assert "deploy_nodes" not in {one.work.operation.value for one in world.provisioner.submissions}
