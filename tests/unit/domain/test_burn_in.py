"""Burn-in: what a design asks for, and how it prolongs preparations."""

import json

from shipyard_api.domain.burn_in import BurnIn, burn_in_part
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from tests.unit.tables import every_row


@every_row([{}, {"cpu": 0}, {"cpu": 0, "disk": 0}])
def test_no_part_is_no_burn_in(written: dict[str, int]) -> None:
    assert BurnIn.read(written) is None


def test_parts_are_tested_in_one_order_however_they_are_written_or_stored() -> None:
    burn_in = BurnIn.read({"network": 4, "disk": 3, "memory": 2, "cpu": 1})
    names = [step.step.step for step in burn_in.steps]
    assert names == ["burnin_cpu", "burnin_memory", "burnin_disk", "burnin_network"]
    assert [burn_in_part(one.step) for one in burn_in.steps] == ["cpu", "memory", "disk", "network"]
    assert [one.step.priority for one in burn_in.steps] == [4, 3, 2, 1]
    stored = json.loads(json.dumps(burn_in.scaled(0.5).to_json(), sort_keys=True))
    again = BurnIn.from_json(stored)
    assert (again.steps, again.length) == (burn_in.steps, 5.0)


@every_row(
    [
        DeployStep(Interface.DEPLOY, "burnin_cpu", {}, 1),
        DeployStep(Interface.BIOS, "burnin_cpu", {"seconds": 1}, 1),
        DeployStep(Interface.DEPLOY, "burnin_gpu", {"seconds": 1}, 1),
        DeployStep(Interface.DEPLOY, "cpu", {"seconds": 1}, 1),
    ],
)
def test_other_steps_are_no_burn_in(step: DeployStep) -> None:
    assert burn_in_part(step) == ""


def test_a_preparation_lasts_longer_unless_it_had_a_burn_in() -> None:
    burn_in = BurnIn({"cpu": 100})
    assert burn_in.prolonged([10, 20, 105]) == [105, 110, 120]
    assert burn_in.measured(lambda: {Phase.DEPLOY: [1]})() == {Phase.DEPLOY: [1], Phase.PREPARE: []}
    learnt = burn_in.learnt(lambda models: {Phase.PREPARE: dict.fromkeys(models.values(), 30)})
    assert learnt({NodeName("n1"): "big"}) == {Phase.PREPARE: {"big": 130}}
    assert burn_in.learnt(lambda _: {})({}) == {}
