"""Inputs of actions as a release has stored them: a later release reads them, and writes the same.

Never change a sample: a new form gets new files beside the old ones.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import ValidationError
from msgspec.structs import fields, replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.holds import OVERRIDDEN
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.targets import TARGET_GROUP
from shipyard_api.ports.state.actions import FURTHER, LIMITS
from shipyard_api.usecases.actions.plan_content import ELSEWHERE
from tests.unit.tables import every_row

NODES = (NodeName("n1"), NodeName("n2"))
SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())


@every_row(SAMPLES)
def test_what_a_release_has_stored_is_read_and_written_again_as_it_was(sample: Path) -> None:
    stored = json.loads(sample.read_text())
    read = ActionInputs.from_json(stored)
    assert json.loads(json.dumps(read.to_json())) == stored
    assert ActionInputs.from_json(read.to_json()) == read


def test_every_input_is_in_a_sample() -> None:
    stored = {name for sample in SAMPLES for name in json.loads(sample.read_text())}
    assert stored == {*_names(ActionInputs), "v"}


def test_inputs_that_sql_reads_and_that_a_plan_shows_elsewhere_have_names_of_fields() -> None:
    assert {FURTHER, LIMITS, OVERRIDDEN, *ELSEWHERE} <= {*_names(ActionInputs), "v", "times"}


@every_row(
    {
        "none": ({}, ActionInputs()),
        "a field of a later release": ({"v": 1, "revision": 3, "later": 1}, ActionInputs(revision=3)),
        "a run without limits": ({"software": {}}, ActionInputs(software={})),
    }
)
def test_what_is_missing_is_not_there(stored: dict[str, Any], inputs: ActionInputs) -> None:
    assert ActionInputs.from_json(stored) == inputs


def test_another_form_is_refused() -> None:
    with pytest.raises(ValidationError):
        ActionInputs.from_json({"targets": 1, "kept": "n1"})


def test_nodes_that_share_their_steps_still_do_so_when_they_were_read() -> None:
    shared = (TemplateStep(TraitName("RAID"), DeployStep(Interface.RAID, "create", {}, 1)),)
    site = SiteInputs(1, DeploymentConfiguration(), None, deploy_steps=dict.fromkeys(NODES, shared))
    stored = ActionInputs(site=site).to_json()
    assert len(stored["deploy_steps"]) == 1
    assert ActionInputs.from_json(stored).to_json() == stored


def test_the_batches_of_an_action_on_servers_are_its_groups() -> None:
    site = SiteInputs(1, DeploymentConfiguration(), None, NODES)
    known = ActionInputs(site=site, max_parallel_nodes=1)
    groups = [group.name for group in known.strategy.groups]
    assert groups == [TARGET_GROUP, f"{TARGET_GROUP}.2"]
    assert ActionInputs.from_json(known.to_json()) == known


def _names(kind: Any) -> set[str]:
    """Return the names in the stored form of inputs."""
    parts = {"site": SiteInputs, "configuration": DeploymentConfiguration}
    names: set[str] = set()
    for name in (field.name for field in fields(kind)):
        if name in parts:
            names |= _names(parts[name])
        elif name not in kind.UNSTORED:
            names.add(next((group for group, grouped in kind.GROUPS.items() if name in grouped), name))
    return names


def test_what_an_action_has_not_is_a_fault_of_the_step_that_asks() -> None:
    inputs = ActionInputs(name=ActionName("update_software"))
    with pytest.raises(ValueError, match="update_software has read no design"):
        _ = inputs.of_site
    for partly in (inputs, replace(inputs, node=NODES[0]), replace(inputs, operation=NodeOperation.DRAIN)):
        with pytest.raises(ValueError, match="update_software is no operation on a node"):
            _ = partly.of_operation
    whole = replace(inputs, node=NODES[0], operation=NodeOperation.DRAIN)
    assert whole.of_operation == (NodeOperation.DRAIN, NODES[0])
