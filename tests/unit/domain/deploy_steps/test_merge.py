"""Which deploy steps run on a node (contract: Ironic deploy templates, 14; seed 003).

A step is written ``interface.step[(args)][priority]``: ``raid.create(disks=1)90``. A template is its steps, by name.
"""

import re
from typing import Any

from shipyard_api.domain.deploy_steps.merge import RESERVED, NodeSteps, plan_node
from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface, StepKey
from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName
from shipyard_api.domain.findings import Level, errors
from shipyard_api.domain.nodes import NodeName
from tests.unit.tables import every_row

NODE = NodeName("n1")
PATTERN = re.compile(r"(?P<interface>[a-z]+)\.(?P<step>[A-Za-z_]+)(\((?P<args>[^)]*)\))?(?P<priority>\d+)")

# Contract, 15, with shorter names: needed arguments have a star.
REAL = """
    deploy.deploy!100 deploy.write_image80 deploy.prepare_boot60 deploy.tear_down40
    deploy.switch30 deploy.boot20 bios.apply(settings*)0 bios.factory_reset0
    raid.apply(raid_config*,delete_existing)0 raid.delete0 vendor.send_raw(raw_bytes*)0
    management.clear_keys0 firmware.update(settings*)0
"""
USUAL = "deploy 100, write_image 80, prepare_boot 60, tear_down 40, switch 30, boot 20"


def arguments(written: str | None) -> list[str]:
    return [one for one in (written or "").split(",") if one]


def supported(written: str, *, repeats: bool = False, disallowed: str = "") -> SupportedSteps:
    """A core step has ``!``, an argument that is needed has ``*``."""
    steps = []
    for one in written.split():
        found = PATTERN.fullmatch(one.replace("!", ""))
        assert found, one
        takes = {name.rstrip("*"): name.endswith("*") for name in arguments(found["args"])}
        steps.append(
            SupportedStep(Interface(found["interface"]), found["step"], int(found["priority"]), takes, core="!" in one)
        )
    return SupportedSteps(tuple(steps), repeats, frozenset(key(one) for one in disallowed.split()))


def key(written: str) -> StepKey:
    interface, step = written.split(".")
    return StepKey(Interface(interface), step)


def template(name: str, written: str) -> DeployTemplate:
    steps = []
    for one in written.split():
        found = PATTERN.fullmatch(one)
        assert found, one
        args: dict[str, Any] = dict(pair.partition("=")[::2] for pair in arguments(found["args"]))
        steps.append(DeployStep(Interface(found["interface"]), found["step"], args, int(found["priority"])))
    return DeployTemplate(TraitName(name), tuple(steps))


def traits(written: str) -> frozenset[TraitName]:
    return frozenset(TraitName(one) for one in written.split())


def shown(planned: NodeSteps) -> str:
    """The steps that run, or the names of the errors."""
    if found := errors(planned.findings):
        assert planned.steps == ()
        return "! " + " ".join(one.name for one in found)
    return ", ".join(f"{one.step} {one.priority}" for one in planned.steps)


R1 = "raid.apply(raid_config=1)90"
VT = "bios.apply(settings=1)150"
NOBOOT = "deploy.boot0"
UNSUPPORTED, UNEXPECTED, MISSING = "! UnsupportedDeployStep", "! UnexpectedStepArguments", "! MissingStepArguments"
CORE, TWICE, CONTRADICTION = "! CoreStepReordered", "! DuplicateDeployStep", "! ContradictoryDeploySteps"
NONE, NOT_ON_NODE, DISALLOWED = "! NoDeploySteps", "! TraitNotOnNode", "! DisallowedDeployStep"

CASES: dict[str, tuple[str, str, dict[str, str], str]] = {
    # name: traits of the node, requested ones, templates, what runs
    "nothing requested": ("A", "", {"A": R1}, USUAL),
    "no templates": ("A", "A", {}, USUAL),
    "the example of the contract": (
        "R1 VT NOBOOT",
        "R1 VT NOBOOT",
        {"R1": R1, "VT": VT, "NOBOOT": NOBOOT},
        "apply 150, deploy 100, apply 90, " + USUAL[12:].removesuffix(", boot 20"),
    ),
    # traits
    "requested, not on the node": ("A", "B", {"A": R1}, NOT_ON_NODE),
    "missing, and a fault": ("A", "A B", {"A": "raid.none5"}, NOT_ON_NODE + " UnsupportedDeployStep"),
    # priorities
    "first of all": ("A", "A", {"A": "bios.factory_reset101"}, "factory_reset 101, " + USUAL),
    "a default moved up": ("A", "A", {"A": "deploy.boot200"}, "boot 200, " + USUAL[:-9]),
    "a default disabled": ("A", "A", {"A": NOBOOT}, USUAL[:-9]),
    # ties
    "ties within one interface as written": (
        "A",
        "A",
        {"A": "deploy.boot150 deploy.write_image150"},
        "boot 150, write_image 150, " + USUAL[:-9].replace(", write_image 80", ""),
    ),
    # core steps
    "core disabled": ("A", "A", {"A": "deploy.deploy0"}, USUAL[12:]),
    "core moved up": ("A", "A", {"A": "deploy.deploy101"}, CORE),
    "core moved, not requested": ("A", "", {"A": "deploy.deploy1"}, CORE),
    # arguments
    "an optional argument": ("A", "A", {"A": "raid.apply(raid_config=1,delete_existing=1)10"}, USUAL + ", apply 10"),
    "an argument it has not": ("A", "A", {"A": "bios.factory_reset(hard=1)10"}, UNEXPECTED),
    "a needed one is absent": ("A", "A", {"A": "bios.apply10"}, MISSING),
    "a needed one is absent, disabled": ("A", "A", {"A": "bios.apply0"}, USUAL),
    "absent and unexpected": ("A", "A", {"A": "bios.apply(x=1)10"}, UNEXPECTED + " MissingStepArguments"),
    # support
    "no such step": ("A", "A", {"A": "raid.create_configuration10"}, UNSUPPORTED),
    "no such step, not on the node": ("B", "B", {"A": "raid.create_configuration10"}, USUAL),
    "a step of another interface": ("A", "A", {"A": "raid.factory_reset10"}, UNSUPPORTED),
    "a step in another case": ("A", "A", {"A": "bios.Factory_Reset10"}, UNSUPPORTED),
    "two unsupported": ("A", "A", {"A": "raid.x1 bios.y1"}, UNSUPPORTED + " UnsupportedDeployStep"),
    "one of two unsupported": ("A", "A", {"A": f"raid.x1 {VT}"}, UNSUPPORTED),
    "unsupported beside core": (
        "A B",
        "A B",
        {"A": "raid.x1", "B": "deploy.deploy1"},
        UNSUPPORTED + " CoreStepReordered",
    ),
    "an interface that has none": ("A", "A", {"A": "power.cycle10"}, UNSUPPORTED),
    # the same step twice
    "by two templates": ("A B", "A B", {"A": R1, "B": "raid.apply(raid_config=0)10"}, TWICE),
    "by two, both off": ("A B", "A B", {"A": NOBOOT, "B": NOBOOT}, TWICE),
    "by two, one of them not requested": ("A B", "A", {"A": R1, "B": R1}, USUAL.replace(", w", ", apply 90, w")),
    "within one template": ("A", "A", {"A": f"{VT} {VT}"}, TWICE),
    # disallowed
    "disallowed": ("A", "A", {"A": "vendor.send_raw(raw_bytes=1)10"}, DISALLOWED),
}


@every_row(CASES)
def test_the_steps_of_a_node(has: str, requested: str, templates: dict[str, str], expected: str) -> None:
    made = [template(name, steps) for name, steps in templates.items()]
    node_traits = NodeTraits(traits(has), traits(requested))
    steps = supported(REAL, disallowed="vendor.send_raw")

    assert shown(plan_node(NODE, node_traits, made, steps)) == expected
    assert plan_node(NODE, node_traits, made[::-1], steps) == plan_node(NODE, node_traits, made, steps)


@every_row(
    [
        ({"A": f"{VT} bios.apply(settings=2)120"}, "apply 150, apply 120, "),
        ({"A": VT, "B": "bios.apply(settings=2)120"}, "apply 150, apply 120, "),
        ({"A": VT, "B": VT}, "apply 150, apply 150, "),
        ({"A": VT, "B": "bios.apply0"}, CONTRADICTION),
        ({"A": "bios.apply0", "B": "bios.apply0"}, ""),
        ({"A": "deploy.write_image200", "B": "deploy.write_image190"}, "write_image 200, write_image 190, "),
        ({"A": "deploy.deploy0", "B": "deploy.deploy1"}, CORE + " ContradictoryDeploySteps"),
    ],
)
def test_a_step_runs_as_often_as_requested_where_the_provisioner_repeats_steps(
    templates: dict[str, str], expected: str
) -> None:
    made = [template(name, steps) for name, steps in templates.items()]
    planned = plan_node(NODE, NodeTraits(traits("A B"), traits("A B")), made, supported(REAL, repeats=True))

    usual = USUAL.replace(", write_image 80", "") if "write_image 200" in expected else USUAL
    assert shown(planned) == (expected if expected.startswith("!") else expected + usual)


def test_a_template_replaces_priority_and_arguments_as_a_whole() -> None:
    steps = supported("raid.apply(raid_config,delete_existing)50")
    made = [template("A", "raid.apply(delete_existing=yes)60")]

    (planned,) = plan_node(NODE, NodeTraits(traits("A"), traits("A")), made, steps).steps

    assert (planned.args, planned.priority, planned.template) == ({"delete_existing": "yes"}, 60, "A")


def test_an_argument_of_null_counts_as_given() -> None:
    step = DeployStep(Interface.BIOS, "apply", {"settings": None}, 150)
    made = [DeployTemplate(TraitName("A"), (step,))]

    planned = plan_node(NODE, NodeTraits(traits("A"), traits("A")), made, supported(REAL))

    assert (planned.findings, planned.steps[0].args) == ((), {"settings": None})


def test_a_deployment_without_any_step_is_an_error() -> None:
    planned = plan_node(
        NODE, NodeTraits(traits("A"), traits("A")), [template("A", "deploy.deploy0")], supported("deploy.deploy!100")
    )

    assert [one.message for one in planned.findings] == ["n1: the templates disable every deploy step."]


def test_a_default_step_that_is_disallowed_does_not_run() -> None:
    steps = supported("deploy.deploy!100 vendor.send_raw90", disallowed="vendor.send_raw")

    assert shown(plan_node(NODE, NodeTraits(), [], steps)) == "deploy 100"


@every_row(sorted(RESERVED))
def test_a_reserved_name_is_no_deploy_step_even_if_the_hardware_has_it(name: str) -> None:
    steps = supported(f"deploy.deploy!100 power.{name}0")

    assert shown(plan_node(NODE, NodeTraits(traits("A")), [template("A", f"power.{name}10")], steps)) == UNSUPPORTED


def test_two_templates_of_one_name_are_an_error() -> None:
    planned = plan_node(NODE, NodeTraits(traits("A")), [template("A", VT), template("A", R1)], supported(REAL))

    assert [one.message for one in planned.findings] == ["n1: 2 deploy templates are named A; keep one."]


@every_row(
    [
        (
            "raid.apply_it(x=1)90",
            "raid.apply_it is not a deploy step that the provisioner runs on this node; did you mean raid.apply?",
        ),
        ("power.cycle1", "power.cycle is not a deploy step that the provisioner runs on this node"),
        ("bios.factory_reset(hard=1,b=2)9", "bios.factory_reset has no argument b, hard; it takes none"),
        ("raid.apply(raid_config=1,x=1)9", "raid.apply has no argument x; it takes delete_existing, raid_config"),
        ("bios.apply9", "bios.apply needs settings"),
        ("deploy.deploy9", "deploy.deploy is a core step, which can be disabled with priority 0 and not moved to 9"),
    ],
)
def test_a_fault_names_node_template_and_step(written: str, message: str) -> None:
    made = [template("CUSTOM_A", written)]

    (found,) = errors(plan_node(NODE, NodeTraits(traits("CUSTOM_A")), made, supported(REAL)).findings)

    assert found.message == f"n1: template CUSTOM_A: {message}."


@every_row(
    [(0, []), (100, ["DeployStepOutOfOrder"]), (101, []), (199, []), (200, ["DeployStepOutOfOrder"])],
)
def test_a_step_runs_only_where_the_provisioner_can_run_it(priority: int, names: list[str]) -> None:
    steps = SupportedSteps(
        (
            SupportedStep(Interface.DEPLOY, "deploy", 100, core=True),
            SupportedStep(Interface.RAID, "layout", lowest=101, highest=199),
        ),
        system="MAAS",
    )

    planned = plan_node(NODE, NodeTraits(traits("A")), [template("A", f"raid.layout{priority}")], steps)

    assert [one.name for one in planned.findings] == names
    assert all("MAAS takes 101 to 199" in one.message for one in planned.findings)


def test_a_hint_of_the_provisioner_says_why_a_step_is_missing() -> None:
    steps = SupportedSteps.none("Drydock", "its API takes none")

    (found,) = errors(plan_node(NODE, NodeTraits(traits("A")), [template("A", R1)], steps).findings)

    assert found.message == (
        "n1: template A: raid.apply is not a deploy step that Drydock runs on this node; its API takes none."
    )


def test_all_missing_traits_and_all_templates_of_one_step_are_named() -> None:
    made = [template("A", VT), template("B", VT)]

    planned = plan_node(NODE, NodeTraits(traits("A B"), traits("A B X Y")), made, supported(REAL))

    assert [one.message for one in planned.findings] == [
        "n1: the deployment requests traits that the node does not have: X, Y. Give them to the node, or do not "
        "request them.",
        "n1: bios.apply is requested 2 times, by A, B; the provisioner runs a step once.",
    ]


def test_the_raid_step_of_the_design_has_a_warning_since_it_runs_after_the_image_is_written() -> None:
    made = [template("CUSTOM_BM_CONFIG_RAID_DISK_MIRROR", "raid.apply(raid_config=1)10")]
    on_node = traits("CUSTOM_BM_CONFIG_RAID_DISK_MIRROR")

    planned = plan_node(NODE, NodeTraits(on_node, on_node), made, supported(REAL))

    (found,) = planned.findings
    assert (found.name, found.level) == ("StepAfterImage", Level.WARNING)
    assert "runs after deploy.write_image (80)" in found.message
    assert planned.steps[-1].step == "apply"


def test_the_two_flavours_of_the_design() -> None:
    """Seed 003, Example: four templates, two of which are requested by each flavour."""
    raid, bios = "CUSTOM_BM_CONFIG_RAID_DISK_", "CUSTOM_BM_CONFIG_BIOS_VMX_"
    made = [
        template(raid + "MIRROR", "raid.apply(raid_config=1)90"),
        template(raid + "STRIPE", "raid.apply(raid_config=0)90"),
        template(bios + "ON", "bios.apply(settings=on)110"),
        template(bios + "OFF", "bios.apply(settings=off)110"),
    ]
    on_node = traits("CUSTOM_OTHER_TRAIT_I_AM_USUALLY_IGNORED CUSTOM_CLASS_A") | {one.name for one in made}

    for chosen, expected in {
        (raid + "MIRROR", bios + "ON"): ("1", "on"),
        (raid + "STRIPE", bios + "OFF"): ("0", "off"),
    }.items():
        node_traits = NodeTraits(on_node, traits("CUSTOM_CLASS_A") | traits(" ".join(chosen)))
        steps = plan_node(NODE, node_traits, made, supported(REAL)).steps
        assert [one.args for one in steps if one.template] == [{"settings": expected[1]}, {"raid_config": expected[0]}]
