"""The software stage in plans, and the tag check when an action is created (seed 002, Orchestration)."""

import json

import falcon
import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.task_graph.layers import SITE, Label, Layer, ReleaseId
from tests.integration.api.wire import JSON, Site, small_design
from tests.task_graphs import group, task

CHECK = "No node has these predefined tags of roles in use: mysql. Their tasks run nowhere."


@pytest.fixture
def software(site: Site) -> Site:
    """Two nodes; n1 has the role web, whose tag mysql was taken from it."""
    site.commit(*small_design())
    layer = Layer(
        (group("web"), task("one", groups=["web"]), task("two", groups=["web"], requires=["one"], condition=False)),
        {"web": Label({"tags": ["mysql"]})},
        {"mysql": Label(predefined=True)},
    )
    with site.store.begin() as tx:
        release = tx.software.release(ReleaseId(1))
        assert release
        tx.software.save_release(replace(release, layer=layer))
    names = [one["name"] for one in site.admin.ask("GET", "/api/v1/nodes").json]
    assert names == ["n1", "n2"]
    with site.store.begin() as tx:
        for one in tx.software.nodes(SITE):
            if one.name == "n1":
                tx.software.save_node(replace(one, roles=("web",)))
    return site


def test_a_plan_shows_the_batches_of_the_software_stage_and_why_it_would_fail(software: Site) -> None:
    plan = software.viewer.post("/plans", '{"name": "deploy_site"}', JSON).json

    assert plan["software"]["batches"] == [
        {"priority": 100, "wave": 0, "runs": [{"group": "web", "nodes": ["n1"], "tasks": ["one"]}]}
    ]
    assert plan["software"]["skipped"] == [{"task": "two", "reason": "its condition is false"}]
    levels = [(one["level"], one["name"]) for one in plan["software"]["findings"]]
    assert levels == [("Info", "NodesWithoutTasks"), ("Error", "NoSsh"), ("Warning", "TagsWithoutNodes")]
    # Seed 000, Overview: the three stages of a site action, one after another; the tag ends it.
    first, nodes, *last = (
        "preflight.ucp_preflight_check",
        "drydock_build.prepare_and_deploy_nodes",
        *plan["steps"][-2:],
    )
    assert last == ["software.run_task_graph", "create_action_tag"]
    assert plan["steps"].index(first) < plan["steps"].index(nodes) < len(plan["steps"]) - 2


@pytest.mark.parametrize(("name", "refused"), [("update_software", True), ("deploy_site", False)])
def test_a_plan_of_a_run_that_would_not_begin_is_refused(software: Site, name: str, *, refused: bool) -> None:
    """Whoever stores such a plan learns it from the plan, not from an action that has failed."""
    where = {"path": "/srv/{VALUES.name}", "data": ""}
    own = Layer(({"id": "three", "type": "upload_file", "groups": ["web"], "parameters": where},))
    with software.store.begin() as tx:
        cluster = tx.software.cluster(SITE)
        assert cluster
        tx.software.save_cluster(replace(cluster, own_layer=own))
    run = {"name": name, "parameters": {"nodes": ["n1"], "values": {"all": {"name": "../etc/x"}}}}

    plan = software.viewer.post("/plans", json.dumps(run if refused else {"name": name}), JSON).json

    fault = "On node n1: Task 'three': path is '/srv/../etc/x'; a path may not have '..' in it."
    reason = f"Step software.run_task_graph would fail: {fault}"
    assert (plan["refused"] or {}).get("reason") == (reason if refused else None)


def test_the_tag_check_is_noted_when_an_action_is_created_and_blocks_nothing(software: Site) -> None:
    created = software.admin.act('{"name": "update_software", "parameters": {"nodes": ["n1"]}}')
    tests = software.admin.act('{"name": "test_site"}')

    assert (created.status, tests.status) == (falcon.HTTP_201, falcon.HTTP_201)
    notes = [
        one["note_val"] for one in software.viewer.get(f"/actions/{created.json['id']}", verbosity="5").json["notes"]
    ]
    assert [note for note in notes if CHECK in note] != []
    with software.store.begin() as tx:
        entries = tx.journal.entries(ActionId(tests.json["id"]))
    assert not [one for one in entries if CHECK in str(one)]


def test_secret_values_of_a_run_are_stored_for_it_and_shown_to_nobody(software: Site) -> None:
    values = {"all": {"ntp": "10.0.0.9", "password": "hunter22"}, "nodes": {"n1": {"password": "other77"}}}
    run = {"name": "update_software", "parameters": {"nodes": ["n1"], "values": {**values, "secret": ["password"]}}}

    created = software.admin.act(json.dumps(run))
    read = software.viewer.get(f"/actions/{created.json['id']}")

    assert created.status == falcon.HTTP_201
    shown = read.json["parameters"]["values"]
    assert (shown["all"], shown["nodes"]) == ({"ntp": "10.0.0.9", "password": "***"}, {"n1": {"password": "***"}})
    assert "hunter22" not in created.text + read.text
    with software.store.begin() as tx:
        inputs = tx.actions.inputs(ActionId(created.json["id"]))
    assert {name: inputs["software"]["values"][name] for name in ("all", "nodes")} == values


NOTHING = {
    "a node without tasks": ({"nodes": ["n2"]}, "No task runs on 1 node(s) of the run: n2 (it has no role)."),
    "nodes of which none is deployed": ({"skip": ["two"]}, "No node of the run is deployed."),
    "no limits, and no node is deployed": ({}, "No node of the run is deployed."),
}
REFUSED = {
    "values of an unknown node": ({"nodes": ["n1"], "values": {"nodes": {"n9": {"x": 1}}}}, "has no node n9."),
    "values that are none": ({"nodes": ["n1"], "values": {"ntp": 1}}, "it is an object with all, nodes, secret"),
    "an unknown node": ({"nodes": ["n1", "n9"]}, "has no node n9."),
    "an unknown task": ({"nodes": ["n1"], "tasks": ["two", "zz"]}, "'zz' is not in the task graph."),
    "nothing between": ({"start": "two", "end": "one"}, "'one' does not depend on 'two'"),
}


def test_a_run_of_what_the_site_has_not_is_refused_before_it_is_stored(software: Site) -> None:
    rows = [(*row, falcon.HTTP_400) for row in REFUSED.values()]
    rows += [(parameters, why, falcon.HTTP_409) for parameters, why in NOTHING.values()]
    for parameters, said, status in rows:
        body = json.dumps({"name": "update_software", "parameters": parameters})
        refused, plan = software.admin.act(body), software.viewer.post("/plans", body, JSON).json

        assert refused.status == status
        assert said in refused.text
        assert plan["refused"]["reason"] == refused.json["reason"]
        assert plan["refused"]["title"] not in refused.json["reason"]
    assert software.viewer.get("/actions").json == []


def test_without_a_task_graph_a_run_may_not_be_limited(site: Site) -> None:
    site.commit(*small_design())

    refused = site.admin.act('{"name": "update_software", "parameters": {"nodes": ["n1"]}}')

    assert (refused.status, "no task graph" in refused.text) == (falcon.HTTP_400, True)
    assert site.viewer.post("/plans", '{"name": "update_software"}', JSON).json["software"] is None
    assert site.admin.act('{"name": "update_software"}').status == falcon.HTTP_201


def test_a_command_needs_no_task_graph_and_is_no_state_of_the_site(site: Site) -> None:
    site.commit(*small_design())
    body = json.dumps({"name": "update_software", "parameters": {"nodes": ["n2"], "command": "uptime"}})

    plan = site.viewer.post("/plans", body, JSON).json
    created = site.admin.act(body)

    assert created.status == falcon.HTTP_201
    assert plan["software"]["batches"][0]["runs"] == [{"group": "nodes", "nodes": ["n2"], "tasks": ["command"]}]
    stored = site.viewer.get(f"/actions/{created.json['id']}").json["steps"]
    steps = [step["id"] for step in stored]
    assert (plan["steps"], steps[-1]) == (steps, "software.run_task_graph")
