"""What of a plan a signature covers."""

from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.plans.plan import PlanContent
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.provisioner import Wipe
from shipyard_api.usecases.actions.plan import Plan
from shipyard_api.usecases.actions.plan_content import content_of, runs_of
from tests.software_world import rendered
from tests.unit.actions.test_frozen_software import frozen
from tests.unit.tables import every_row

POLICY = PolicyInputs({"windows": {}}, seconds={"deploy": 60.0}, usual={"x": {"deploy": 50.0}})
SITE = SiteInputs(5, DeploymentConfiguration(deploy_nodes=PhaseLimits(10, 3600)), None, policy=POLICY)


def content(**inputs: Any) -> PlanContent:
    given = {"name": ActionName("deploy_site"), "revision": Revision(5), "refusal": None, "findings": ()}
    known = ActionInputs(**{"site": SITE, **inputs})
    return content_of(Plan(**given, steps=(), mode=None, groups=(), inputs=known))


def limited(seconds: int) -> SiteInputs:
    return replace(SITE, configuration=DeploymentConfiguration(deploy_nodes=PhaseLimits(10, seconds)))


RAID = TemplateStep(TraitName("RAID"), DeployStep(Interface.RAID, "raid", {}, 1))
STEP = '{"args": {}, "interface": "raid", "priority": 1, "st…'


@every_row(
    {
        "what is measured anew": ({"site": replace(SITE, policy=replace(POLICY, seconds={}, usual={}))}, []),
        "what two equal actions differ in": ({"action": "0" * 26, "kept_items": {"a": ("b",)}}, []),
        "what may be secret": ({"software": {"values": {"password": "secret"}}}, []),
        "what the design says": (
            {"site": replace(SITE, policy=replace(POLICY, data={}))},
            ["policy data windows: {} is gone."],
        ),
        "a limit": ({"site": limited(60)}, ["limits deploy_nodes timeout: was 3600, is 60."]),
        "a deploy step": (
            {"site": replace(SITE, deploy_steps={NodeName("n1"): (RAID,)})},
            [f'deploy_steps: {{"nodes": ["n1"], "steps": [{STEP} is new.'],
        ),
        "a label": ({"labels": {"n1": {"a": "b"}}}, ['labels n1: {"a": "b"} is new.']),
        "inputs of an action of its own": ({"wipe": Wipe.OS_DISK_ONLY}, ["limits wipe: os_disk_only is new."]),
    },
)
def test_what_decides_what_an_action_does_is_covered(inputs: dict[str, Any], said: list[str]) -> None:
    assert content().differences(content(**inputs)) == said
    assert (content().digest == content(**inputs).digest) == (said == [])


def test_a_limit_of_a_drain_is_covered() -> None:
    said = content(limits=TeardownLimits()).differences(content(limits=replace(TeardownLimits(), drain=60)))
    assert said == ["limits drain: was 3600, is 60."]


def test_acceptance_tasks_are_covered_and_a_secret_in_one_is_not_shown() -> None:
    accepting: Any = SimpleNamespace(group=SimpleNamespace(accept=("make",)))
    given = {"name": ActionName("deploy_site"), "revision": Revision(5), "refusal": None, "findings": ()}
    design = rendered(["n1"], secret="run make")
    plan = Plan(**given, steps=(), mode=None, groups=[accepting], frozen=frozen(), design=design)

    found = runs_of(plan)

    assert [document["parameters"] for document in found.documents.values()] == [{"cmd": "***"}]
    assert [*found.secrets] == ["task make"]
    assert "run make" in found.secrets["task make"]
