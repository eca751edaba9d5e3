"""The teardown API of seed 004, served by Shipyard: what is done, what excludes what, and callers who come and go."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import pytest
from falcon.testing import Result

from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.teardown.labels import CORDONED_KEY, Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget
from shipyard_api.observing.logs import AUDIT
from shipyard_api.storage import journal
from shipyard_api.storage.projections import Line
from shipyard_api.usecases.tokens import ApiTokens
from tests.factories import group, strategy
from tests.integration.api.cluster_world import MOST, ClusterWorld, reference
from tests.integration.api.wire import JSON, V1, Caller, everything_said, messages, small_design
from tests.teardown_world import ETCD, pod

N1 = NodeName("n1")


def blocked(world: ClusterWorld) -> None:
    """Let a pod of n1 be kept by its budget for ever."""
    selector = (Requirement("app", Operator.IN, ("db",)),)
    world.programs.cluster.pods[N1].append(pod("db", labels={"app": "db"}))
    world.programs.cluster.budgets = [Budget("default", "db", selector, 0, 1, 1, 1)]


def others_dead(world: ClusterWorld) -> None:
    world.programs.etcd.form(ETCD, "n1", "n2", "n3", dead=["n2", "n3"])


def shown(answer: Result) -> list[tuple[str, str]]:
    return [(one["level"], one["message"]) for one in messages(answer)]


def test_a_node_is_decommissioned_again_and_removed(world: ClusterWorld) -> None:
    revision = world.commit()

    # A kubelet that does not stop is a warning.
    world.programs.cluster.stops_kubelets = False
    done = world.call("n1", "decommission", reference(revision))
    # It and its parts can be repeated, although our own pod is left.
    world.programs.cluster.stops_kubelets = True
    repeated = [world.call("n1", "decommission", reference(revision))]
    assert [one.name for one in world.programs.cluster.pods[N1]] == ["kubelet-stopper-n1"]
    repeated.append(world.call("n1", "clear-labels"))
    assert world.programs.cluster.pods[N1] == []
    gone = world.call("n1", "remove-from-cluster")

    assert (done.status, done.json["reason"], done.json["details"]["errorCount"]) == (falcon.HTTP_200, "Success", 0)
    assert [one.json["reason"] for one in repeated] == ["Success"] * 2
    *told, warning = shown(done)
    assert (warning[0], warning[1][:42]) == ("Warning", "shutdown-kubelet: no DaemonSet waits for t")
    assert told == [
        ("Info", "pod default/n1-a was evicted"),
        ("Info", "pod default/n1-b was evicted"),
        ("Info", "label openstack was removed"),
        ("Info", f"etcd member {ETCD}-n1 left cluster {ETCD}"),
        *(("Info", f"{one}: done") for one in ("drain", "clear-labels", "remove-etcd", "await-etcd")),
    ]
    assert {one["kind"] for one in messages(done)} == {"SimpleMessage"}
    assert (gone.status, gone.json["reason"]) == (falcon.HTTP_200, "Success")
    assert N1 not in world.programs.cluster.nodes
    relabel = {"name": "relabel_nodes", "parameters": {"target_nodes": ["n1", "n2"]}}
    refused = world.site.admin.act(json.dumps(relabel))
    assert (refused.status, refused.json["reason"]) == (
        falcon.HTTP_409,
        "Node n1 is not in the cluster: shipyard create action redeploy_server --param=target_nodes=n1.",
    )
    assert (
        world.site.admin.post("/plans", json.dumps(relabel), JSON).json["refused"]["reason"] == refused.json["reason"]
    )

    # No list has them; the node, the audit and whoever knows their ids do.
    assert world.site.viewer.get("/actions").json == []
    assert world.site.viewer.get("/workflows").json == []
    node = world.site.viewer.get("/nodes/n1").json
    assert [one["operation"] for one in node["teardowns"] if one["outcome"] == "running"] == [
        *("remove-from-cluster", "clear-labels"),
        *("shutdown-kubelet", "await-etcd", "remove-etcd", "clear-labels") * 2,
        "drain",
    ]
    action = world.site.viewer.get(f"/actions/{node['teardowns'][0]['action_id']}").json
    assert (action["name"], action["parameters"]) == (
        "node_operation",
        {"node": "n1", "operation": "remove-from-cluster"},
    )
    assert [(one["command"], one["user"]) for one in action["command_audit"]] == [("invoke", "ann")]


def test_what_a_drain_cordoned_is_uncordoned_and_the_cordon_of_another_stays(world: ClusterWorld) -> None:
    world.commit()
    nodes = world.programs.cluster.nodes
    world.call("n1", "drain")
    assert (nodes[N1].cordoned, CORDONED_KEY in nodes[N1].labels) == (True, True)

    cordon = world.site.viewer.get("/nodes/n1").json["cordon"]
    assert (cordon["action"], cordon["commands"]) == ("node_operation", ["shipyard node uncordon n1"])
    answers = [world.call("n1", "uncordon"), world.call("n1", "uncordon")]

    assert [shown(one) for one in answers] == [
        [("Info", "uncordon: done")],
        [("Info", "uncordon: done, it was not cordoned")],
    ]
    assert (nodes[N1].cordoned, CORDONED_KEY in nodes[N1].labels) == (False, False)
    assert world.site.viewer.get("/nodes/n1").json["cordon"] is None
    world.programs.cluster.cordon(nodes[N1])
    refused = world.call("n1", "uncordon")
    print(refused.status, refused.text)
    assert (refused.status, refused.json["reason"]) == (falcon.HTTP_409, "Conflict")
    assert "cordoned without Shipyard's label" in everything_said(refused)
    assert nodes[N1].cordoned


def test_a_node_is_uncordoned_after_its_labels_were_cleared(world: ClusterWorld) -> None:
    revision = world.commit()
    nodes = world.programs.cluster.nodes
    world.call("n1", "decommission", reference(revision))
    assert (nodes[N1].cordoned, CORDONED_KEY in nodes[N1].labels) == (True, False)

    answer = world.call("n1", "uncordon")

    assert (answer.status, nodes[N1].cordoned) == (falcon.HTTP_200, False)
    assert "`shipyard create action relabel_nodes` sets the design's" in everything_said(answer)
    relabel = {"name": "relabel_nodes", "parameters": {"target_nodes": ["n1"]}}
    assert world.site.admin.act(json.dumps(relabel)).status == falcon.HTTP_201


def test_an_operation_that_fails_says_why(world: ClusterWorld) -> None:
    """Why each fails, and which reason that is: tests/unit/domain/test_node_operations.py."""
    revision = world.commit()
    blocked(world)

    removal = world.call("n1", "remove-from-cluster")
    short = {"drain_node_timeout": "60", "drain_node_grace_period": "30"}
    answer = world.call("n1", "decommission", reference(revision), **short)

    assert (removal.status, removal.json["reason"]) == (falcon.HTTP_409, "Conflict")
    assert "The node is not cordoned" in everything_said(removal)
    assert (answer.status, answer.json["reason"]) == (falcon.HTTP_500, "DisassociateStepFailure")
    for says in ("default/db (Running, ReplicaSet web)", "clear-labels: not tried"):
        assert says in everything_said(answer)
    assert answer.json["details"]["errorCount"] >= 1
    assert world.programs.etcd.log == []


def test_what_etcd_forbids_is_refused_before_anything_is_begun(world: ClusterWorld) -> None:
    """So is a design that cannot be rendered, with its finding."""
    assert world.site.admin.load("design", *small_design()[:-1]).status == falcon.HTTP_201
    assert world.site.admin.commit(force="true").status == falcon.HTTP_200
    for operation, body in (("clear-labels", None), ("decommission", reference(1))):
        answer = world.post("n1", operation, body)
        assert (answer.status, answer.json["reason"]) == (falcon.HTTP_400, "BadRequest")
        assert "Revision 1 cannot be used: The design holds no deckhand/LayeringPolicy/v1" in everything_said(answer)

    revision = world.commit()
    others_dead(world)
    refused = [world.post("n1", operation, reference(revision)) for operation in ("remove-etcd", "decommission")]
    parameters = {"target_nodes": ["n1"], "target-revision": "committed"}
    action = json.dumps({"name": "redeploy_server", "parameters": parameters})
    redeploy = world.site.admin.act(action)
    plan = world.site.viewer.post("/plans", action, JSON).json

    assert [(one.status, one.json["reason"]) for one in refused] == [
        (falcon.HTTP_500, "RemoveEtcdError"),
        (falcon.HTTP_500, "DisassociateStepFailure"),
    ]
    assert (redeploy.status, redeploy.json["message"]) == (falcon.HTTP_409, "Etcd forbids the teardown")
    assert plan["refused"]["title"] == "Etcd forbids the teardown"
    for answer in (*refused, redeploy):
        assert f"Without n1, etcd cluster {ETCD} has no healthy member" in everything_said(answer)
    assert (world.actions(), world.programs.cluster.log, world.programs.etcd.log) == ([], [], [])
    world.programs.etcd.form(ETCD, "n1", dead=["n1"])  # silent: the action asks again, and waits
    assert world.site.admin.act(action).status == falcon.HTTP_201


def test_a_drain_fails_at_once_or_deletes_what_a_budget_keeps(world: ClusterWorld) -> None:
    world.commit()
    blocked(world)
    lower = Caller(world.programs.app, ApiTokens(world.site.store).create("bob", "admin_ucp")[1])
    begun = world.programs.clock.now()

    failed = world.call("n1", "drain", on_blocked="fail")
    assert (failed.json["reason"], world.programs.clock.now() - begun < timedelta(minutes=1)) == (
        "DrainNodeError",
        True,
    )
    assert lower.ask("POST", f"{V1}/nodes/n1/drain", query="on-blocked=delete").status == falcon.HTTP_403
    assert world.programs.cluster.changes("delete") == []
    assert world.call("n1", "drain", on_blocked="delete").json["reason"] == "Success"
    assert world.programs.cluster.changes("delete") == ["default/db"]


def test_a_lost_connection_neither_stops_nor_repeats_the_work_and_the_same_call_attaches(
    world: ClusterWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.commit()
    caplog.set_level("INFO", AUDIT)

    async def play() -> tuple[str, Result]:
        first = asyncio.create_task(world.ask("n1", "drain"))
        action = await world.begun()
        first.cancel()  # what the server does when its connection is lost
        with pytest.raises(asyncio.CancelledError):
            await first
        again = asyncio.create_task(world.ask("n1", "drain"))
        await world.attached(1)
        await asyncio.to_thread(world.run, action)
        return action, await again

    action, answer = asyncio.run(play())

    assert answer.json["reason"] == "Success"
    assert [one.id for one in world.actions()] == [action]
    lines = [one.__dict__ for one in caplog.records if one.name == AUDIT and one.__dict__["path"].endswith("/drain")]
    assert [(one["status"], one["created_action"]) for one in lines] == [(499, action), (200, action)]
    assert world.programs.cluster.changes("evict") == ["default/n1-a", "default/n1-b"]


def test_two_equal_calls_at_once_are_one_action(world: ClusterWorld) -> None:
    revision = world.commit()

    async def play() -> list[Result]:
        calls = [asyncio.create_task(world.ask("n1", "remove-etcd", reference(revision))) for _ in range(4)]
        await asyncio.wait_for(world.attached(4), 60)  # those of a second action would come after its end
        await asyncio.to_thread(world.run, await world.begun())
        return await asyncio.wait_for(asyncio.gather(*calls), 60)  # a second action would never end

    assert [one.json["reason"] for one in asyncio.run(play())] == ["Success"] * 4
    assert len(world.actions()) == 1


def test_waiting_callers_hold_no_thread_and_are_bounded(world: ClusterWorld) -> None:
    world.commit()

    async def play() -> tuple[Result, Any, list[Result]]:
        calls = [asyncio.create_task(world.ask("n1", "drain")) for _ in range(MOST + 1)]
        # Only a refusal is answered before the operation has ended.
        (first,), waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        action = await world.begun()
        await world.attached(MOST)
        other = await asyncio.to_thread(world.site.viewer.get, "/nodes/n1/drain-plan")
        await asyncio.to_thread(world.run, action)
        return await first, other, await asyncio.gather(*waiting)

    refused, other, answers = asyncio.run(play())

    print(refused.status, refused.text)
    assert (refused.status, refused.json["reason"]) == (falcon.HTTP_503, "TooManyCallers")
    assert refused.headers["Retry-After"] == "10"
    assert other.status == falcon.HTTP_200
    assert {one.status for one in answers} == {falcon.HTTP_200}
    assert len(world.actions()) == 1
    assert world.call("n2", "drain").status == falcon.HTTP_200


def running(world: ClusterWorld, operation: str = "drain", node: str = "n1", **query: str) -> str:
    """Let an operation be at work, without its caller."""

    async def play() -> str:
        body = reference(1) if operation in ("decommission", "remove-etcd") else None
        known = [one.id for one in world.actions()]
        call = asyncio.create_task(world.ask(node, operation, body, **query))
        action = await world.begun(known=known)
        call.cancel()
        return action

    return asyncio.run(play())


def test_operations_exclude_each_other_and_a_hold_refuses_all(world: ClusterWorld) -> None:
    """And their limits are those of the call, then those of the site."""
    revision = world.commit(kubernetes_provisioner={"clear_labels_timeout": 77})

    def refused(says: str, node: str, operation: str, body: Any = None, **query: str) -> None:
        # Work that is not refused would never end.
        answer = asyncio.run(asyncio.wait_for(world.ask(node, operation, body, **query), 60))
        assert (answer.status, answer.json["reason"]) == (falcon.HTTP_409, "Conflict")
        assert says in everything_said(answer)

    drain = running(world, "drain", timeout="7200")
    refused(f"drain of n1 is running as action {drain}", "n1", "shutdown-kubelet")
    refused("with other parameters", "n1", "drain", timeout="4000")
    (action,) = world.actions()
    assert {name: action.inputs["limits"][name] for name in ("drain", "drain_grace_period", "clear_labels")} == {
        "drain": 7200,
        "drain_grace_period": 1800,
        "clear_labels": 77,
    }
    assert action.parameters == {"node": "n1", "operation": "drain", "timeout": 7200}
    world.run(drain)
    decommission = running(world, "decommission")
    for operation, body in (("clear-labels", None), ("remove-etcd", reference(revision))):
        refused("only one node of the site", "n2", operation, body)
        refused(decommission, "n2", operation, body)
    hold = world.site.admin.post("/nodes/n2/holds", '{"reason": "new disk"}', JSON).json["id"]
    refused(f"Hold {hold}: node n2 is held (operator) by ann: new disk.", "n2", "drain")
    assert len(world.actions()) == 2
    # A hold of one class refuses only operations of that kind.
    assert world.site.admin.ask("DELETE", f"/api/v1.0/holds/{hold}").status == falcon.HTTP_200
    world.site.admin.post("/nodes/n2/holds", '{"reason": "new disk", "class": "no_teardown"}', JSON)
    refused("node n2 is held (operator, no teardown) by ann: new disk.", "n2", "drain")
    running(world, "uncordon", "n2")
    assert len(world.actions()) == 3


def test_site_actions_and_operations_exclude_each_other(world: ClusterWorld) -> None:
    revision = world.commit()
    act = world.site.admin.act
    drain = running(world)

    refused = act('{"name": "deploy_site"}')
    assert (refused.status, refused.json["message"]) == (falcon.HTTP_409, "A node operation is running")
    assert drain in refused.json["reason"]
    plan = world.site.viewer.post("/plans", '{"name": "deploy_site"}', JSON).json
    assert plan["refused"]["title"] == "A node operation is running"
    world.run(drain)
    assert world.state(drain) is RunState.SUCCESS

    labels = running(world, "clear-labels")
    tagged = act(
        json.dumps({"name": "redeploy_server", "parameters": {"target_nodes": ["n2"], "target-revision": "committed"}})
    )
    assert (tagged.status, tagged.json["message"]) == (falcon.HTTP_409, "A node operation is running")
    world.run(labels)

    site_action = act('{"name": "deploy_site"}').json["id"]
    for operation, body in (("drain", None), ("remove-etcd", reference(revision))):
        answer = world.post("n2", operation, body)
        assert (answer.status, answer.json["reason"]) == (falcon.HTTP_409, "Conflict")
        assert f"deploy_site {site_action} is running, and it works on n2" in everything_said(answer)

    # Once its nodes are known, it is in the way on these only.
    known = MembersKnown.of(strategy(group("a")), {GroupName("a"): frozenset([NodeName("n2")])})
    with world.database.begin() as connection:
        journal.record(connection, Line(ActionId(site_action), 1, "a", datetime.now(UTC), "w"), (known,))
    # Work that is not refused would never end.
    assert "it works on n2" in everything_said(asyncio.run(asyncio.wait_for(world.ask("n2", "drain"), 60)))
    running(world, "drain", "n1")


def test_no_member_leaves_etcd_while_another_node_is_redeployed(world: ClusterWorld) -> None:
    revision = world.commit()
    parameters = {"target_nodes": ["n2"], "target-revision": "committed"}
    redeploy = world.site.admin.act(json.dumps({"name": "redeploy_server", "parameters": parameters})).json["id"]

    # Work that is not refused would never end.
    answer = asyncio.run(asyncio.wait_for(world.ask("n1", "remove-etcd", reference(revision)), 60))
    running(world, "drain")

    assert (answer.status, answer.json["reason"]) == (falcon.HTTP_409, "Conflict")
    assert f"redeploy_server {redeploy} is running, and it may take etcd members out" in everything_said(answer)


def test_an_operation_is_stopped_and_its_own_call_repeats_it(world: ClusterWorld) -> None:
    world.commit()
    blocked(world)
    action = running(world)
    world.programs.worker.run(action)  # type: ignore[arg-type]  # an id
    assert world.site.admin.post(f"/actions/{action}/control/stop").status == falcon.HTTP_202
    world.run(action)

    assert world.state(action) is RunState.FAILED
    retried = world.site.admin.post(f"/actions/{action}/control/retry")
    assert (retried.status, retried.json["message"]) == (falcon.HTTP_409, "Unable to retry action")
    assert world.site.admin.act('{"name": "node_operation"}').status == falcon.HTTP_400


def test_the_health_of_etcd_is_that_of_each_cluster(world: ClusterWorld) -> None:
    revision = world.commit()
    href = reference(revision)["href"]

    def ask() -> tuple[int, list[dict[str, Any]]]:
        answer = world.site.viewer.ask("GET", f"{V1}/etcd-cluster-health-statuses", params={"design_ref": href})
        assert (answer.status, answer.json["reason"]) == (falcon.HTTP_200, "Success")
        return answer.json["details"]["errorCount"], messages(answer)

    def members(*states: str) -> list[dict[str, Any]]:
        return [
            {"name": f"n{at}", "state": state, "leader": at == 1, "learner": False}
            for at, state in enumerate(states, 1)
        ]

    healthy = {"message": "Healthy", "error": False, "kind": "HealthMessage", "name": ETCD}
    healthy["members"] = members("healthy", "healthy", "healthy")
    assert ask() == (0, [healthy])
    href = href.replace("+", " ")  # as a query without escapes arrives
    assert ask() == (0, [healthy])
    others_dead(world)
    assert ask() == (0, [{**healthy, "message": "Unhealthy", "members": members("healthy", "dead", "dead")}])
    world.programs.etcd.form(ETCD, "n1", dead=["n1"])
    assert ask() == (1, [{**healthy, "message": "Unable to access Etcd", "error": True, "members": []}])
