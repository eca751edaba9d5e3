"""Deploy steps, deploy templates, and what a deployment requires."""

from typing import Any

import pytest

from shipyard_simulators.tests.ironic.client import DEFAULTS, Ironic, StartIronic, add, said, step


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        ([], DEFAULTS),
        ([step("bios.factory_reset", 150)], ["bios.factory_reset", *DEFAULTS]),
        ([step("bios.factory_reset", 90)], [DEFAULTS[0], "bios.factory_reset", *DEFAULTS[1:]]),
        ([step("deploy.boot_instance", 0)], DEFAULTS[:-1]),
        ([step("deploy.deploy", 0)], DEFAULTS[1:]),
        ([step("deploy.boot_instance", 70)], [*DEFAULTS[:2], "deploy.boot_instance", *DEFAULTS[2:-1]]),
        ([step("bios.factory_reset", 0)], DEFAULTS),
        ([step("deploy.polish", 50)], DEFAULTS),
        ([step("bios.hold", 50), step("power.reboot", 60)], DEFAULTS),
        (
            [step("raid.delete_configuration", 120), step("bios.factory_reset", 120)],
            ["bios.factory_reset", "raid.delete_configuration", *DEFAULTS],
        ),
        (
            [step("bios.apply_configuration", 120, settings=[]), step("firmware.update", 130, settings=[])],
            ["firmware.update", "bios.apply_configuration", *DEFAULTS],
        ),
    ],
    ids=lambda value: (
        "+".join(f"{each['step']}@{each['priority']}" for each in value if isinstance(each, dict)) or "ran"
    ),
)
def test_steps_are_merged_with_the_defaults(shared: Ironic, name: str, asked: list[Any], ran: list[str]) -> None:
    shared.at(name, "available", driver="fake-hardware")

    node = shared.run(name, "active", "active", deploy_steps=asked)

    assert shared.steps(name) == ran
    assert node["driver_internal_info"].get("deploy_steps") is None
    assert node["deploy_step"] == {}


@pytest.mark.parametrize(
    ("asked", "status", "text"),
    [
        ([step("network.foo")], 400, "is not one of ['vendor'"),
        ([step("bios.apply_configuration", 150)], 400, "missing these required arguments: settings"),
        ([step("bios.apply_configuration", 150, settings=[], x=1)], 400, "has these unexpected arguments: x"),
        ([step("bios.apply_configuration", 0, x=1)], 400, "has these unexpected arguments: x"),
        ([step("deploy.deploy", 100)], 400, "is a core step and cannot be overridden"),
        ([step("raid.delete_configuration"), step("raid.delete_configuration", 0)], 400, "Duplicate deploy steps"),
        ([step("vendor.send_raw", 5, raw_bytes="x")], 400, "is not allowed"),
        ([{"interface": "bios", "step": "factory_reset"}], 400, "'args' is a required property"),
        ([{**step("bios.factory_reset"), "color": 1}], 400, "'color' was unexpected"),
        ([{**step("bios.factory_reset"), "args": None}], 400, "is not of type 'object'"),
        ([step("bios.factory_reset", "5")], 500, "not supported between instances of 'str' and 'int'"),
        ([step("bios.factory_reset", "five")], 400, "is not of type 'integer'"),
        ([step("bios.factory_reset", -1)], 400, "less than the minimum of 0"),
        ([step("bios.factory_reset", 1.5)], 400, "is not of type 'integer'"),
        ([step("bios.factory_reset", True)], 400, "is not of type 'integer'"),
        ("bios.factory_reset", 400, "is not of type 'array'"),
    ],
)
def test_steps_that_are_refused_at_once(start: StartIronic, asked: Any, status: int, text: str) -> None:
    ironic = start()
    ironic.at("n1", "available", driver="fake-hardware")

    answer = ironic.verb("n1", "active", deploy_steps=asked)

    assert answer.status_code == status
    assert text in said(answer)
    assert ironic.node("n1")["provision_state"] == "available"


def test_everything_wrong_with_the_steps_is_said_at_once(shared: Ironic, name: str) -> None:
    shared.at(name, "available")
    text = said(shared.verb(name, "active", deploy_steps=[step("bios.factory_reset", y=1), step("deploy.deploy", 1)]))

    assert text.startswith("Failed to validate deploy or power info for node ")
    assert "unexpected arguments: y; deploy step deploy on interface deploy is a core step" in text


def test_steps_need_their_version_and_none_need_none(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    asked = shared.verb(name, "active", deploy_steps=[step("bios.factory_reset")], version="1.68")
    assert asked.status_code == 406
    assert shared.verb(name, "active", deploy_steps=[], version="1.68").status_code == 202


def test_while_deploying_the_node_says_which_steps_run(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {agent: never}}")
    ironic.at("n1", "available")
    asked = [step("bios.factory_reset", 150), step("deploy.polish", 50)]

    node = ironic.run("n1", "active", "wait call-back", deploy_steps=asked)

    noted = node["driver_internal_info"]
    assert noted["user_deploy_steps"] == asked
    assert [each["step"] for each in noted["deploy_steps"]][:2] == ["factory_reset", "deploy"]
    assert "polish" not in [each["step"] for each in noted["deploy_steps"]]
    assert noted["deploy_step_index"] == 1
    assert node["reservation"] is None


def test_with_an_agent_an_unknown_step_fails_the_node(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    node = shared.run(name, "active", "deploy failed", "active", deploy_steps=[step("deploy.polish", 50)])

    assert node["provision_state"] == "deploy failed"
    assert "Failed to validate the final deploy steps list" in node["last_error"]
    assert "wait call-back" in shared.states(name)


def test_steps_of_the_agent_are_known_once_it_runs(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    shared.run(name, "active", "active", deploy_steps=[step("deploy.inject_files", 50, files=[])])

    assert shared.steps(name) == [*DEFAULTS[:3], "deploy.inject_files", *DEFAULTS[3:]]


def test_a_deployment_without_any_step_fails(shared: Ironic, name: str) -> None:
    shared.at(name, "available", driver="fake-hardware")

    node = shared.run(name, "active", "deploy failed", deploy_steps=[step(each, 0) for each in DEFAULTS])

    assert node["last_error"] == "No deploy steps returned by the driver"
    assert node["target_provision_state"] == "active"


def template(ironic: Ironic, trait: str, *steps: Any) -> Any:
    return ironic.call("POST", "/v1/deploy_templates", {"name": trait, "steps": list(steps)})


def test_templates_of_the_instance_traits_are_merged_and_the_request_goes_first(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available", driver="fake-hardware")
    template(
        ironic, "CUSTOM_RAID", step("raid.apply_configuration", 150, raid_config={}), step("deploy.boot_instance", 0)
    )
    template(ironic, "CUSTOM_OTHER", step("bios.factory_reset", 200))
    ironic.put("n1", traits=["CUSTOM_RAID", "CUSTOM_OTHER"])
    ironic.patch("n1", add("/instance_info/traits", ["CUSTOM_RAID", "CUSTOM_RAID"]))

    ironic.run("n1", "active", "active", deploy_steps=[step("raid.apply_configuration", 10, raid_config={"a": 1})])

    assert ironic.steps("n1") == [*DEFAULTS[:-1], "raid.apply_configuration"]
    assert ironic.log("step", "n1")[-1]["args"] == {"raid_config": {"a": 1}}


@pytest.mark.parametrize(
    ("traits", "status", "text"),
    [
        (["CUSTOM_MISSING", "CUSTOM_GONE"], 400, "is missing traits CUSTOM_GONE, CUSTOM_MISSING"),
        ("CUSTOM_A", 400, "A list of strings is expected."),
        ([5], 400, "A list of strings is expected."),
        (["CUSTOM_A"], 202, ""),
        ([], 202, ""),
        (None, 202, ""),
        ({}, 202, ""),
    ],
)
def test_instance_traits_are_checked_when_it_is_deployed(
    shared: Ironic, name: str, traits: Any, status: int, text: str
) -> None:
    shared.at(name, "available")
    shared.call("PUT", f"/v1/nodes/{name}/traits", {"traits": ["CUSTOM_A"]})
    assert shared.patch(name, add("/instance_info/traits", traits)).status_code == 200

    answer = shared.verb(name, "active")

    assert answer.status_code == status
    if status == 400:
        assert text in said(answer)
        validation = shared.get(f"/v1/nodes/{name}/validate")
        assert (validation["deploy"]["result"], text in validation["deploy"]["reason"]) == (False, True)


def test_a_node_in_maintenance_is_not_deployed_but_all_else_goes_on(shared: Ironic, name: str) -> None:
    shared.at(name, "available")
    assert shared.call("PUT", f"/v1/nodes/{name}/maintenance", {"reason": "new disks"}).status_code == 202
    node = shared.node(name)
    assert (node["maintenance"], node["maintenance_reason"], node["fault"]) == (True, "new disks", None)

    answer = shared.verb(name, "active")
    assert (answer.status_code, "because it's in maintenance mode" in said(answer)) == (400, True)
    shared.run(name, "manage", "manageable")
    shared.run(name, "provide", "available")
    assert shared.node(name)["maintenance"]
    assert shared.call("DELETE", f"/v1/nodes/{name}/maintenance").status_code == 202
    shared.run(name, "active", "active")


@pytest.mark.parametrize(
    ("configdrive", "version", "status"),
    [
        ({"user_data": "x"}, "1.69", 202),
        ("H4sIA", "1.69", 202),
        ({"user_data": "x"}, "1.55", 400),
        ("H4sIA", "1.55", 202),
    ],
)
def test_a_config_drive_is_taken_and_hidden(
    shared: Ironic, name: str, configdrive: Any, version: str, status: int
) -> None:
    shared.at(name, "available")

    assert shared.verb(name, "active", configdrive=configdrive, version=version).status_code == status
    if status == 202:
        assert shared.until(name, "active")["instance_info"]["configdrive"] == "******"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "CUSTOM_NEW", "steps": [step("bios.factory_reset")]}, 201),
        ({"name": "CUSTOM_OLD", "steps": [step("bios.factory_reset")]}, 409),
        ({"name": "new", "steps": [step("bios.factory_reset")]}, 400),
        ({"name": "CUSTOM_NEW", "steps": []}, 400),
        ({"name": "CUSTOM_NEW", "steps": [step("bios.factory_reset"), step("bios.factory_reset")]}, 400),
        ({"name": "CUSTOM_NEW"}, 400),
    ],
)
def test_deploy_templates(start: StartIronic, body: Any, status: int) -> None:
    ironic = start()
    template(ironic, "CUSTOM_OLD", step("bios.factory_reset", "7"))

    assert ironic.call("POST", "/v1/deploy_templates", body).status_code == status

    old = ironic.get("/v1/deploy_templates/CUSTOM_OLD")
    assert old["steps"][0]["priority"] == 7
    renamed = ironic.call("PATCH", f"/v1/deploy_templates/{old['uuid']}", [add("/name", "CUSTOM_RENAMED")])
    assert renamed.status_code == 200
    assert ironic.call("DELETE", "/v1/deploy_templates/CUSTOM_RENAMED").status_code == 204
    assert len(ironic.get("/v1/deploy_templates")["deploy_templates"]) == (1 if status == 201 else 0)
    assert ironic.call("GET", "/v1/deploy_templates", version="1.54").status_code == 404
