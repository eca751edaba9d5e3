"""The drain plan of a node: by itself, and in the plan of redeploy_server."""

from __future__ import annotations

import json
from typing import Any

import falcon

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.labels import Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget
from tests.integration.api.cluster_world import ClusterWorld
from tests.integration.api.wire import JSON, Site
from tests.teardown_world import ETCD, pod

N1 = NodeName("n1")


def fill(world: ClusterWorld) -> None:
    """Give n1 a pod of several classes, on a site with a design."""
    world.commit()
    selector = (Requirement("app", Operator.IN, ("db",)),)
    world.programs.cluster.budgets = [Budget("default", "db", selector, 0, 1, 1, 1)]
    world.programs.cluster.pods[N1] += [
        pod("db", labels={"app": "db"}, volumes=("data-db",)),
        pod("static", controller=None, mirror=True),
        pod("bare", controller=None, local_data=True),
    ]


def test_every_pod_has_its_class_and_etcd_what_it_still_survives(world: ClusterWorld) -> None:
    fill(world)
    plan = world.site.viewer.get("/nodes/n1/drain-plan").json

    assert (plan["node"], plan["revision"], plan["cordoned"], plan["findings"]) == ("n1", 1, False, [])
    assert {name: number for name, number in plan["totals"].items() if number} == {
        "mirror": 1,
        "evictable": 3,
        "blocked-forever": 1,
    }
    shown = {one["name"]: (one["class"], one["losses"], one["budgets"], one["controller"]) for one in plan["pods"]}
    assert shown == {
        "n1-a": ("evictable", [], [], "ReplicaSet/web"),
        "n1-b": ("evictable", [], [], "ReplicaSet/web"),
        "db": ("blocked-forever", [], ["default/db"], "ReplicaSet/web"),
        "static": ("mirror", [], [], None),
        "bare": ("evictable", ["no-controller", "local-data"], [], None),
    }
    assert plan["etcd"] == [
        {
            "cluster": ETCD,
            "health": "Healthy",
            "members": ["n1"],
            "survivable_failures": 1,
            "survivable_failures_after": 0,
        }
    ]
    assert world.programs.cluster.log == []
    assert world.actions() == []


def test_what_forbids_a_teardown_is_found(world: ClusterWorld) -> None:
    world.commit()
    world.programs.etcd.form(ETCD, "n1", "n2", "n3", dead=["n2", "n3"])
    plan = world.site.viewer.get("/nodes/n1/drain-plan").json

    assert [(one["level"], one["name"]) for one in plan["findings"]] == [("Error", "LastHealthyEtcdMember")]
    (etcd,) = plan["etcd"]
    assert (etcd["health"], etcd["survivable_failures"], etcd["survivable_failures_after"]) == ("Unhealthy", -1, -2)

    world.programs.etcd.members.clear()
    (silent,) = world.site.viewer.get("/nodes/n1/drain-plan").json["etcd"]
    assert (silent["health"], silent["survivable_failures"]) == ("Unable to access Etcd", None)
    unknown = world.site.viewer.get("/nodes/n9/drain-plan")
    assert (unknown.status, unknown.json["reason"]) == (falcon.HTTP_404, "Kubernetes does not know the node n9")


def test_without_kubernetes_there_is_no_plan(site: Site) -> None:
    nothing = site.viewer.get("/nodes/n1/drain-plan")
    assert (nothing.status, nothing.json["message"]) == (falcon.HTTP_409, "Nothing can be drained")


def test_the_plan_of_a_redeployment_has_a_drain_plan_for_each_server(world: ClusterWorld) -> None:
    fill(world)
    del world.programs.cluster.nodes[NodeName("n2")]
    parameters: dict[str, Any] = {"target_nodes": ["n1", "n2"], "target-revision": "committed"}

    def plan(name: str, **parameters: Any) -> Any:
        body = json.dumps({"name": name, "parameters": parameters})
        return world.site.viewer.post("/plans", body, JSON).json

    redeployment = plan("redeploy_server", **parameters)
    first, second = redeployment["drains"]
    # The first step of its action asks the same.
    assert redeployment["refused"]["reason"].startswith("Step check_teardown would fail: ")
    assert "default/db" in redeployment["refused"]["reason"]
    removal = plan("remove_server", target_nodes="n2,n1")
    assert [one["node"] for one in removal["drains"]] == ["n2", "n1"]
    assert [(one["order"], one["sends"]) for one in removal["groups"]] == [(1, ["n2"]), (2, ["n1"])]
    assert (removal["mode"], removal["totals"]["sent"]) == (None, 2)

    assert (first["node"], first["why_none"]) == ("n1", None)
    assert first["plan"] == world.site.viewer.get("/nodes/n1/drain-plan").json
    assert (second["plan"], second["why_none"]) == (
        None,
        "Kubernetes does not know the node, so nothing would be drained",
    )
    world.programs.cluster.break_next("look")
    failing = plan("redeploy_server", **parameters)["drains"][0]
    assert (failing["plan"], "broken on purpose" in failing["why_none"]) == (None, True)
    for name, targets in (("deploy_site", {}), ("relabel_nodes", {"target_nodes": ["n1"]})):
        assert plan(name, **targets)["drains"] == []
