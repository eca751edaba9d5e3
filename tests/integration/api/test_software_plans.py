"""The software stage in plans, and the tag check when an action is created (seed 002, Orchestration)."""

from dataclasses import replace

import falcon
import pytest

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
    assert "software.run_task_graph" in plan["steps"]


def test_a_plan_has_no_software_stage_where_there_is_none(site: Site) -> None:
    site.commit(*small_design())

    assert site.viewer.post("/plans", '{"name": "update_software"}', JSON).json["software"] is None


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
