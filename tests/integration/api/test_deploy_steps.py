"""Deploy steps over the wire, with a provisioner that runs none: it refuses them by name (product, section 8)."""

import json
import uuid
from typing import Any

import falcon

from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.ports.state.deploy_templates import TemplateId
from tests.factories import document
from tests.integration.api.wire import JSON, V1, Site, messages, small_design

MIRROR = DeployStep(Interface.RAID, "create_configuration", {"admin_password": "hunter22"}, 110)
TEXT = (
    "n2: template CUSTOM_MIRROR: raid.create_configuration is not a deploy step that Drydock runs on this node; its "
    "API takes none."
)
FLAVOR = document(
    "shipyard/NodeTraits/v1",
    "mirror",
    {"selectors": [{"node_names": ["n2"]}], "traits": ["CUSTOM_MIRROR"], "requested_traits": ["CUSTOM_MIRROR"]},
)


def about_steps(found: list[dict[str, Any]]) -> list[str]:
    return [one["message"] for one in found if "Step" in one["name"]]


def test_drydock_refuses_the_steps_of_templates_at_commit_in_the_plan_and_at_creation(site: Site) -> None:
    with site.store.begin() as tx:
        template = DeployTemplate(TraitName("CUSTOM_MIRROR"), (MIRROR,))
        tx.deploy_templates.create(TemplateId(str(uuid.uuid4())), template, {})
    site.admin.load("design", *small_design(), FLAVOR, buffermode="replace")

    refused = site.admin.commit()
    forced = site.admin.commit(force="true")
    plan = site.viewer.post("/plans", '{"name": "deploy_site"}', JSON).json
    created = site.admin.act()

    assert (refused.status, about_steps(messages(refused))) == (falcon.HTTP_400, [TEXT])
    assert forced.status == falcon.HTTP_200
    assert about_steps(plan["findings"]) == about_steps(plan["refused"]["messages"]) == [TEXT]
    assert plan["deploy_steps"] == [{"nodes": ["n2"], "steps": [], "disabled": []}]
    assert (created.status, about_steps(messages(created))) == (falcon.HTTP_400, [TEXT])
    assert "hunter22" not in refused.text + created.text + json.dumps(plan)


def test_a_node_of_drydock_has_no_deploy_steps_and_says_why(site: Site) -> None:
    answer = site.viewer.ask("GET", f"{V1}/nodes/n1/deploy-steps")

    assert answer.json == {
        "node": "n1",
        "provisioner": "Drydock",
        "repeats": False,
        "steps": [],
        "hints": ["its API takes none"],
    }
