"""Acceptance tasks of groups, from the commit to the end of deploy_site; how nodes run them is in the unit tests."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.errors import InvalidDesign
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.task_graph.layers import Layer, ReleaseId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.software.results import ReadTaskResults
from tests.contract.remote_task_sites import sshd
from tests.crash.calm import accepting
from tests.factories import group_entry
from tests.task_graphs import stage, task
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


def test_real_hosts_accept_one_node_and_refuse_another(worlds: Callable[..., World], tmp_path: Path) -> None:
    names = [NodeName("n0"), NodeName("n2")]
    with ExitStack() as cleanup:
        site = sshd(cleanup, tmp_path, count=2)
        hosts = {name: Host(name, host.address, host.port) for name, host in zip(names, site.hosts, strict=True)}
        (tmp_path / site.hosts[1].name / "broken").touch()
        looks = site.command('echo two of three disks; test ! -e "${SHIPYARD_TASKS%/tasks}/broken"')
        disk, net = (task(name, stage="test", role="*") for name in ("disk", "net"))
        disk["parameters"] = {"cmd": looks, "retries": 0}
        net["parameters"] = {"cmd": site.command("true"), "retries": 0}
        only = group_entry("only", selectors=[{"node_names": names}], accept=["disk", "net"])
        world = worlds(groups=[only], graph=[stage("test"), disk, net], tasks=site.tasks, hosts=hosts)
        world.run(world.worker(), lambda: time.sleep(0.05))
        with world.store().begin() as tx:
            found = {one.name: one for one in tx.actions.nodes(world.action, status=(), group=(), after="", limit=9)}
        assert [found[name].status for name in names] == [NodeStatus.SUCCESS, NodeStatus.FAILURE]
        assert found[names[1]].detail == (
            "acceptance task disk: exit status 1; its output ends with: two of three disks"
        )
        assert [site.marks(host) for host in site.hosts] == [2, 1]
