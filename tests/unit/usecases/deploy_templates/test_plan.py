"""The warning about deployed nodes that lack steps of their templates says the way back that a report says."""

from shipyard_api.domain.deploy_steps.planning import PlannedNodes
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.nodes import NodeName
from shipyard_api.usecases.deploy_templates.plan import templates_not_applied
from tests.unit.tables import every_row

STEPS = tuple(
    TemplateStep(TraitName(name), DeployStep(Interface.BIOS, "apply_configuration", {}, 110))
    for name in ("BIOS", "RAID")
)
N1, N2 = NodeName("n1"), NodeName("n2")
NOTHING = "already deployed, so there is nothing to do"

ROWS: dict[str, tuple[dict[NodeName, tuple[str, ...] | None], bool, list[str]]] = {
    "nothing differs": ({}, True, []),
    "only the design differs": ({N1: ("design",)}, True, []),
    "no record": ({N1: None}, True, [f"n1: {NOTHING}; BIOS, RAID would need redeploy_server."]),
    "steps of one template": ({N1: ("steps:BIOS",)}, True, [f"n1: {NOTHING}; BIOS would need service_server."]),
    "steps that cannot be run again": (
        {N1: ("steps:BIOS",)},
        False,
        [f"n1: {NOTHING}; BIOS would need redeploy_server."],
    ),
    "steps of both": (
        {N1: ("steps:BIOS", "steps:RAID"), N2: ("steps:RAID",)},
        True,
        [f"n1: {NOTHING}; BIOS would need service_server.", f"n1, n2: {NOTHING}; RAID would need service_server."],
    ),
    "the design differs too": (
        {N1: ("design", "steps:RAID"), N2: ("steps:RAID",)},
        True,
        [f"n2: {NOTHING}; RAID would need service_server.", f"n1: {NOTHING}; RAID would need redeploy_server."],
    ),
}


@every_row(ROWS)
def test_nodes_without_steps_of_their_templates_have_the_way_back_of_a_report(
    differing: dict[NodeName, tuple[str, ...] | None], services: bool, messages: list[str]
) -> None:
    planned = [PlannedNodes((N1, N2), STEPS), PlannedNodes((NodeName("n3"),))]

    findings = templates_not_applied(planned, differing, services=services)

    assert [finding.message for finding in findings] == messages
