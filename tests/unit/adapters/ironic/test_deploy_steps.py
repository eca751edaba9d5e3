"""The deploy steps of a node, by its hardware interfaces (contract ironic-deploy-templates, section 15)."""

import json
from typing import Any

import pytest

from shipyard_api.adapters.ironic import deploy_steps
from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.deploy_steps.templates import Interface
from shipyard_api.domain.nodes import NodeName
from shipyard_simulators.ironic import steps as simulated
from tests.conftest import ROOT
from tests.unit.tables import every_row

N1 = NodeName("n1")
AGENT = (
    "deploy 100!, write_image 80, prepare_instance_boot 60, tear_down_agent 40, switch_to_tenant_network 30, "
    "boot_instance 20"
)
CUSTOM = AGENT.replace("write_image 80, ", "")
BOOTC = CUSTOM.replace("deploy 100!", "deploy 100!, execute_bootc_install 80").replace(
    "prepare_instance_boot 60", "prepare_instance_boot 60, set_boot_to_disk 60"
)
IN_BAND = "clean_uefi_nvram 0, erase_devices_metadata 0, execute_bootc_install 0, inject_files 0"
RAID = "delete_existing, raid_config*"
BURN_IN = {"burnin_cpu", "burnin_gpu", "burnin_memory", "burnin_network"}


def of(further: Any = None, **interfaces: str) -> SupportedSteps:
    listed = {"name": "n1", **{f"{name}_interface": value for name, value in interfaces.items()}}
    return deploy_steps.supported([listed, {"name": None}], [N1], deploy_steps.read_table(further or {}), 115)[N1]


def shown(steps: SupportedSteps) -> str:
    ordered = sorted(steps.steps, key=lambda one: -one.priority)
    return ", ".join(f"{one.step} {one.priority}{'!' if one.core else ''}" for one in ordered)


@every_row(
    [
        ({"deploy": "direct"}, f"{AGENT}, {IN_BAND}"),
        ({"deploy": "custom-agent"}, f"{CUSTOM}, {IN_BAND}, write_image 0"),
        ({"deploy": "bootc"}, f"{BOOTC}, {IN_BAND.replace('execute_bootc_install 0, ', '')}, write_image 0"),
        ({"deploy": "ansible"}, AGENT.replace("prepare_instance_boot 60, ", "")),
        ({"deploy": "ramdisk"}, "deploy 100!"),
        ({"deploy": "fake", "bios": "fake", "raid": "fake"}, "deploy 100!"),
        ({"bios": "redfish"}, "apply_configuration 0, factory_reset 0"),
        *(({"raid": name}, "apply_configuration 0, delete_configuration 0") for name in ("redfish", "idrac-redfish")),
        ({"bios": "idrac-redfish"}, "apply_configuration 0, factory_reset 0"),
        ({"management": "idrac-redfish"}, "clear_secure_boot_keys 0, reset_secure_boot_keys_to_default 0"),
        ({"management": "intel-ipmitool"}, "configure_intel_speedselect 200"),
        ({"raid": "agent"}, "apply_configuration 0"),
        ({"management": "redfish"}, "clear_secure_boot_keys 0, reset_secure_boot_keys_to_default 0"),
        ({"firmware": "redfish"}, "update 0"),
        ({"vendor": "ipmitool"}, "send_raw 0"),
        ({"bios": "no-bios", "raid": "no-raid", "power": "ipmitool", "vendor": ""}, ""),
    ],
)
def test_an_interface_has_the_steps_of_its_implementation(interfaces: dict[str, str], expected: str) -> None:
    steps = of(**interfaces)

    assert (shown(steps), dict(steps.hints)) == (expected, {})


def test_arguments_and_what_never_runs() -> None:
    steps = of(raid="agent", vendor="ipmitool").by_key()

    ((raid,), (raw,)) = (
        [one for key, one in steps.items() if key.interface is kind] for kind in (Interface.RAID, Interface.VENDOR)
    )
    assert ", ".join(f"{name}{'*' * needed}" for name, needed in raid.arguments.items()) == RAID
    assert of(vendor="ipmitool").disallowed == {raw.key}
    assert not of(raid="agent").repeats


def test_an_unknown_implementation_says_where_to_name_its_steps() -> None:
    steps = of(bios="acme", raid="redfish")

    assert dict(steps.hints) == {
        Interface.BIOS: "its bios interface is acme: name the steps of that in [ironic] deploy_steps_file"
    }


@every_row([("direct", BURN_IN), ("ansible", set())])
def test_a_service_has_the_steps_of_the_agent_that_a_deployment_lacks(deploy: str, expected: set[str]) -> None:
    steps = of(deploy=deploy, management="redfish")

    service = {key.step for key in steps.service_by_key()}
    assert {one for one in service if one.startswith("burnin_")} == expected
    assert "update_firmware" in service
    assert not {key.step for key in steps.by_key()} & (BURN_IN | {"update_firmware"})


def test_a_cleaning_has_steps_of_its_own() -> None:
    clean = {key.step for key in of(deploy="direct", raid="agent").clean_by_key()}
    assert clean >= {*BURN_IN, "burnin_disk", "erase_devices", "create_configuration"}
    assert not clean & {"write_image", "deploy"}


@every_row([69, 115, 999])
def test_each_version_of_the_api_has_a_release(version: int) -> None:
    assert deploy_steps.release_of(version).api >= min(version, deploy_steps.releases()[-1].api)
    assert [deploy_steps.release_of(known.api) for known in deploy_steps.releases()] == [*deploy_steps.releases()]


def test_a_file_adds_implementations_and_steps_of_any() -> None:
    further = {
        "bios": {"acme": [{"step": "apply_configuration", "args": {"settings": True}}]},
        "deploy": {"*": [{"step": "erase_devices"}], "custom": [{"step": "deploy", "priority": 100, "core": True}]},
    }

    assert shown(of(further, bios="acme", deploy="custom")) == "deploy 100!, erase_devices 0, apply_configuration 0"
    assert shown(of(further, deploy="direct")) == f"{AGENT}, {IN_BAND}, erase_devices 0"
    assert of(further, bios="acme").hints == {}


def test_only_listed_nodes_that_were_asked_for_and_alike_ones_share_their_steps() -> None:
    listed = [{"name": name, "raid_interface": "agent"} for name in ("a", "b", "c")]

    found = deploy_steps.supported(listed, [NodeName("a"), NodeName("b"), NodeName("x")], {}, 115)

    assert list(found) == ["a", "b"]
    assert found[NodeName("a")] is found[NodeName("b")]


def test_the_steps_of_simulated_hardware_are_those_that_the_simulator_runs() -> None:
    further = json.loads((ROOT / "etc" / "ironic-fake-steps.json").read_text())
    interfaces = dict.fromkeys(("deploy", "bios", "raid", "management", "firmware"), "fake")

    ours = {
        (str(one.key), one.priority, tuple(one.arguments.items()), one.core) for one in of(further, **interfaces).steps
    }

    offered = simulated._BY_DRIVER["fake-hardware"]
    assert ours == {(".".join(one.key), one.priority, tuple(one.args.items()), one.core) for one in offered}


def test_the_firmware_interface_is_asked_for_where_the_api_has_it() -> None:
    assert "firmware_interface" not in deploy_steps.fields(85)
    assert "firmware_interface" in deploy_steps.fields(86)


@every_row(
    [
        ([], "is not an object of interfaces"),
        ("x", "is not an object of interfaces"),
        ({"boot": {}}, "has the interface 'boot'; write one of vendor, power"),
        ({"raid": []}, "raid is not an object of implementations"),
        ({"raid": {"x": {}}}, "raid.x is not a list of steps"),
        ({"raid": {"x": ["a"]}}, r"raid.x\[0\] is not an object with the name"),
        ({"raid": {"x": [{}]}}, r"raid.x\[0\] is not an object with the name"),
        ({"raid": {"x": [{"step": ""}]}}, "with the name of a step"),
        ({"raid": {"x": [{"step": 1}]}}, "with the name of a step"),
        ({"raid": {"x": [{"step": "a", "prio": 1}]}}, "has the unknown key prio"),
        ({"raid": {"x": [{"step": "a", "priority": -1}]}}, "needs a priority"),
        ({"raid": {"x": [{"step": "a", "priority": True}]}}, "needs a priority"),
        ({"raid": {"x": [{"step": "a", "priority": 2**31}]}}, "needs a priority"),
        ({"raid": {"x": [{"step": "a", "args": ["b"]}]}}, "needs args"),
        ({"raid": {"x": [{"step": "a", "args": {"b": "yes"}}]}}, "needs args"),
        ({"raid": {"x": [{"step": "a", "core": 1}]}}, "needs true or false for core"),
        ({"raid": {"x": [{"step": "a"}, {"step": "a"}]}}, "has a more than once"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(written: Any, text: str) -> None:
    with pytest.raises(deploy_steps.UnreadableSteps, match=text):
        deploy_steps.read_table(written)
