"""What of a plan a signature covers."""

from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.plans.plan import PlanContent
from shipyard_api.usecases.actions.plan import Plan
from shipyard_api.usecases.actions.plan_content import content_of, runs_of
from tests.software_world import rendered
from tests.unit.actions.test_frozen_software import frozen
from tests.unit.tables import every_row

POLICY = {"data": {"windows": {}}, "chosen": {}, "seconds": {"deploy": 60.0}, "usual": {"x": {"deploy": 50.0}}}
INPUTS = {"v": 1, "revision": 5, "times": {"deploy_nodes": [10, 3600]}, "mode": [1, None, False, "fail_group"]}


def content(**inputs: Any) -> PlanContent:
    given = {"name": ActionName("deploy_site"), "revision": Revision(5), "refusal": None, "findings": ()}
    return content_of(Plan(**given, steps=(), mode=None, groups=(), inputs={**INPUTS, "policy": POLICY, **inputs}))


@every_row(
    {
        "what is measured anew": ({"policy": {**POLICY, "seconds": {}, "usual": {}}}, []),
        "what two equal actions differ in": ({"action": "0" * 26, "kept_items": {}}, []),
        "what may be secret": ({"software": {"values": {"password": "secret"}}}, []),
        "what the design says": ({"policy": {**POLICY, "data": {}}}, ["policy data windows: {} is gone."]),
        "a limit": ({"times": {"deploy_nodes": [10, 60]}}, ["limits deploy_nodes timeout: was 3600, is 60."]),
        "a limit of a drain": ({"limits": {"drain": 60}}, ["limits drain: 60 is new."]),
        "a deploy step": ({"deploy_steps": [["n1"], ["raid"]]}, ['deploy_steps: ["n1"], ["raid"] are new.']),
        "a label": ({"labels": {"n1": {"a": "b"}}}, ['labels n1: {"a": "b"} is new.']),
        "inputs of an action of its own": ({"runbook": ["a"]}, ['limits runbook: ["a"] is new.']),
    },
)
def test_what_decides_what_an_action_does_is_covered(inputs: dict[str, Any], said: list[str]) -> None:
    assert content().differences(content(**inputs)) == said
    assert (content().digest == content(**inputs).digest) == (said == [])


def test_acceptance_tasks_are_covered_and_a_secret_in_one_is_not_shown() -> None:
    accepting: Any = SimpleNamespace(group=SimpleNamespace(accept=("make",)))
    given = {"name": ActionName("deploy_site"), "revision": Revision(5), "refusal": None, "findings": ()}
    design = rendered(["n1"], secret="run make")
    plan = Plan(**given, steps=(), mode=None, groups=[accepting], frozen=frozen(), design=design)

    found = runs_of(plan)

    assert [document["parameters"] for document in found.documents.values()] == [{"cmd": "***"}]
    assert [*found.secrets] == ["task make"]
    assert "run make" in found.secrets["task make"]
