"""The deploy steps of all nodes of a design (product, section 8; seed 003, Example)."""

import json

from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.planning import (
    plan_cleaning,
    plan_nodes,
    plan_service,
    requested_from_json,
    requested_of,
    requested_to_json,
    without_template,
)
from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface, Runbook
from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName
from shipyard_api.domain.findings import MOST_NAMED
from shipyard_api.domain.nodes import NodeName

RAID = SupportedStep(
    Interface.RAID, "create_configuration", arguments={"logical_disks": True, "delete_configuration": False}
)
BIOS = SupportedStep(Interface.BIOS, "apply_configuration", arguments={"settings": True})
REAL = SupportedSteps(
    (
        SupportedStep(Interface.DEPLOY, "boot_instance", 20),
        SupportedStep(Interface.DEPLOY, "deploy", 100, core=True),
        SupportedStep(Interface.DEPLOY, "write_image", 80),
        RAID,
        BIOS,
    )
)
WITHOUT_RAID = SupportedSteps((*REAL.steps[:3], BIOS), system="Ironic", hints={Interface.RAID: "no RAID here"})
PREFIX = "CUSTOM_BM_CONFIG"
# Seed 003, Example; its RAID step has priority 10, which runs after the image is written.
TEMPLATES = [
    DeployTemplate(
        TraitName(f"{PREFIX}_RAID_DISK_{name}"),
        (DeployStep(Interface.RAID, "create_configuration", {"logical_disks": [{"raid_level": level}]}, 110),),
    )
    for name, level in (("MIRROR", "1"), ("STRIPE", "0"))
] + [
    DeployTemplate(
        TraitName(f"{PREFIX}_BIOS_VMX_{state}"),
        (DeployStep(Interface.BIOS, "apply_configuration", {"settings": [{"name": "VMX", "value": state}]}, 120),),
    )
    for state in ("ON", "OFF")
]
HAS = frozenset(one.name for one in TEMPLATES) | {TraitName("CUSTOM_OTHER_TRAIT_I_AM_USUALLY_IGNORED")}


def flavor(*names: str) -> NodeTraits:
    return NodeTraits(HAS, frozenset(TraitName(f"{PREFIX}_{name}") for name in names))


MIRROR, STRIPE = flavor("BIOS_VMX_ON", "RAID_DISK_MIRROR"), flavor("BIOS_VMX_OFF", "RAID_DISK_STRIPE")
N = [NodeName(f"n{number:02}") for number in range(20)]


def test_the_example_of_the_seed_plans_each_flavor_once() -> None:
    planned = plan_nodes({N[2]: STRIPE, N[0]: MIRROR, N[1]: MIRROR}, TEMPLATES, dict.fromkeys(N, REAL))

    assert [(one.nodes, [f"{step.step} {step.priority} {step.args}" for step in one.steps][:2]) for one in planned] == [
        (
            (N[0], N[1]),
            [
                "apply_configuration 120 {'settings': [{'name': 'VMX', 'value': 'ON'}]}",
                "create_configuration 110 {'logical_disks': [{'raid_level': '1'}]}",
            ],
        ),
        (
            (N[2],),
            [
                "apply_configuration 120 {'settings': [{'name': 'VMX', 'value': 'OFF'}]}",
                "create_configuration 110 {'logical_disks': [{'raid_level': '0'}]}",
            ],
        ),
    ]
    assert all([step.step for step in one.steps][2:] == ["deploy", "write_image", "boot_instance"] for one in planned)
    assert all(one.findings == () for one in planned)


def test_what_is_frozen_is_what_was_requested() -> None:
    planned = plan_nodes({N[0]: MIRROR, N[1]: MIRROR, N[2]: STRIPE, N[3]: flavor()}, TEMPLATES, dict.fromkeys(N, REAL))
    requested = requested_of(planned)

    stored = json.loads(json.dumps(requested_to_json(requested)))

    assert [one["nodes"] for one in stored] == [["n00", "n01"], ["n02"]]
    assert requested_from_json(stored) == requested
    assert requested_to_json(requested_from_json(stored)) == stored
    assert [step.template for step in requested[N[0]]] == [f"{PREFIX}_BIOS_VMX_ON", f"{PREFIX}_RAID_DISK_MIRROR"]


def test_a_step_that_the_provisioner_lacks_names_nodes_template_and_step_and_freezes_nothing() -> None:
    supported = dict.fromkeys(N[:1], REAL) | dict.fromkeys(N[1:], WITHOUT_RAID)

    planned = plan_nodes(dict.fromkeys(N, flavor("RAID_DISK_MIRROR")), TEMPLATES, supported)

    good, bad = planned
    named = f"{', '.join(N[1 : 1 + MOST_NAMED])} and {len(N) - 1 - MOST_NAMED} more"
    step = "raid.create_configuration is not a deploy step that Ironic runs on this node; no RAID here"
    assert good.findings == ()
    assert [one.message for one in bad.findings] == [
        # Also the template that nobody requested: it is enabled on the nodes (seed 003, Deploy Templates).
        f"{named}: template {PREFIX}_RAID_DISK_MIRROR: {step}.",
        f"{named}: template {PREFIX}_RAID_DISK_STRIPE: {step}.",
    ]
    assert requested_of(planned).keys() == {N[0]}


def test_a_node_that_the_provisioner_does_not_know_is_a_warning_and_keeps_its_steps() -> None:
    (planned,) = plan_nodes({N[0]: MIRROR}, TEMPLATES, {})

    assert [(one.name, one.level.value) for one in planned.findings] == [("DeployStepsNotChecked", "Warning")]
    assert (len(planned.requested), planned.steps) == (2, ())


def test_requested_traits_that_a_node_lacks_are_an_error_with_and_without_templates() -> None:
    lacking = NodeTraits(frozenset(), frozenset({TraitName("CUSTOM_X")}))
    traits = {N[0]: lacking, N[1]: NodeTraits(HAS, HAS | lacking.requested), N[2]: NodeTraits(HAS)}

    found = plan_nodes(traits, TEMPLATES[:1], dict.fromkeys(N, REAL))

    assert [[finding.name for finding in one.findings] for one in found] == [["TraitNotOnNode"], ["TraitNotOnNode"], []]
    assert plan_nodes({N[0]: NodeTraits(HAS, HAS)}, [], {}) == ()


def test_a_requested_trait_without_a_template_is_a_warning() -> None:
    typo = TraitName("CUSTOM_TYPO")
    traits = {N[0]: NodeTraits(HAS | {typo}, HAS | {typo}), N[1]: NodeTraits(HAS | {typo}, HAS)}
    (found,) = without_template(traits, [replace(TEMPLATES[0], name=name) for name in HAS])
    assert (found.name, found.level.value) == ("TraitWithoutTemplate", "Warning")
    assert found.message.startswith("n00: the requested trait CUSTOM_TYPO has no deploy template")


SERVICE = DeployTemplate(
    TraitName("CUSTOM_SERVICE"),
    (
        DeployStep(Interface.RAID, "create_configuration", {"logical_disks": []}, 10),
        DeployStep(Interface.BIOS, "apply_configuration", {"settings": []}, 20),
        DeployStep(Interface.DEPLOY, "write_image", {}, 0),
    ),
)


def test_a_service_runs_the_steps_of_its_template_by_priority_and_no_default_ones() -> None:
    (planned,) = plan_service([N[1], N[0]], SERVICE, dict.fromkeys(N, REAL))

    assert (planned.nodes, planned.findings) == ((N[0], N[1]), ())
    assert [step.step for step in planned.steps] == ["apply_configuration", "create_configuration"]
    assert [one.step.step for one in planned.requested] == ["apply_configuration", "create_configuration"]


def test_a_service_has_steps_of_its_own_where_the_provisioner_has_them() -> None:
    burn_in = SupportedStep(Interface.DEPLOY, "burnin_cpu")
    own = replace(REAL, service=(burn_in,))
    template = replace(SERVICE, steps=(DeployStep(Interface.DEPLOY, "burnin_cpu", {}, 10),))

    (planned,) = plan_service([N[0]], template, {N[0]: own})
    assert ([step.step for step in planned.steps], planned.findings) == (["burnin_cpu"], ())
    (refused,) = plan_service([N[0]], replace(SERVICE, steps=SERVICE.steps[:1]), {N[0]: own})
    assert [finding.name for finding in refused.findings] == ["UnsupportedDeployStep"]


def test_what_a_service_cannot_run_names_nodes_template_and_step() -> None:
    template = replace(SERVICE, steps=(SERVICE.steps[0], replace(SERVICE.steps[2], priority=5)))

    planned = plan_service(N[:3], template, {N[0]: WITHOUT_RAID, N[1]: REAL})

    said = [finding.message for one in planned for finding in one.findings]
    assert said == [
        "n00: template CUSTOM_SERVICE: raid.create_configuration is not a deploy step that Ironic runs on this node; "
        "no RAID here.",
        "n00: template CUSTOM_SERVICE: deploy.write_image is part of an installation, and a service leaves the system "
        "installed.",
        "n01: template CUSTOM_SERVICE: deploy.write_image is part of an installation, and a service leaves the system "
        "installed.",
        "n02: the provisioner does not know these nodes.",
    ]
    assert requested_of(planned) == {}
    nothing = replace(SERVICE, steps=SERVICE.steps[2:])
    assert [one.findings[0].name for one in plan_service(N[:1], nothing, {N[0]: REAL})] == ["NoServiceSteps"]


def test_a_cleaning_has_the_steps_of_its_runbook_in_order_where_the_provisioner_cleans_with_them() -> None:
    own = replace(REAL, clean=(SupportedStep(Interface.BIOS, "apply_configuration", arguments={"settings": True}),))
    reboot = DeployStep(Interface.POWER, "reboot", {}, 30)
    runbook = Runbook(replace(SERVICE, steps=(SERVICE.steps[1], reboot)), masked=(reboot.key,))

    plan = plan_cleaning([N[1], N[0]], runbook, dict.fromkeys(N, own))
    (planned,) = plan.cleaning
    assert (planned.nodes, [step.step for step in planned.steps]) == ((N[0], N[1]), ["reboot", "apply_configuration"])
    assert ([one.name for one in plan.findings], plan.nodes, plan.requested) == (["RunbookMasked"], (), {})

    wrong = plan_cleaning(N[:2], Runbook(SERVICE), {N[0]: own})
    assert [one.message for one in wrong.findings] == [
        "n00: runbook CUSTOM_SERVICE: raid.create_configuration is not a clean step that the provisioner runs on this "
        "node; did you mean bios.apply_configuration?.",
        "n00: runbook CUSTOM_SERVICE: deploy.write_image is not a clean step that the provisioner runs on this node.",
        "n01: the provisioner does not know these nodes.",
    ]
