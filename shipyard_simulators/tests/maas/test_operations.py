"""Operations on machines (contract, section 7)."""

import base64

import pytest

from shipyard_simulators.tests.maas.client import OTHER_ADMIN, Maas, StartMaas, fresh


def test_prepare_deploy_destroy(start: StartMaas) -> None:
    maas = start("machines: {n1: New}")
    assert maas.do("n1", "commission").json()["status_name"] == "Commissioning"
    assert maas.watch("n1", "Ready")["owner"] is None
    allocated = maas.post("machines/?op=allocate", system_id=maas.id_of("n1"), agent_name="a-7")
    assert (allocated.json()["status"], allocated.json()["agent_name"]) == (10, "a-7")
    assert maas.do("n1", "set_workload_annotations", site="s1").json()["owner_data"] == {"site": "s1"}
    begun = maas.do("n1", "deploy", distro_series="ubuntu/noble", user_data=base64.b64encode(b"#cloud-config"))
    assert (begun.json()["status_name"], begun.json()["distro_series"]) == ("Deploying", "noble")
    assert maas.watch("n1", "Deployed")["power_state"] == "on"
    (machine,) = maas.control("GET", "machines")
    assert machine["user_data"] == "#cloud-config"
    assert maas.do("n1", "release", erase="true", quick_erase="true").json()["status_name"] == "Disk erasing"
    ready = maas.watch("n1", "Ready")
    assert (ready["owner"], ready["workload_annotations"], ready["agent_name"], ready["osystem"]) == (None, {}, "", "")
    assert ready["power_state"] == "off"
    assert maas.call("DELETE", f"machines/{ready['system_id']}/").status_code == 204
    whole = "New,Commissioning,Testing,Ready,Allocated,Deploying,Deployed,Disk erasing,Releasing,Ready"
    assert maas.path_of("n1") == [*whole.split(","), None]


@pytest.mark.parametrize("label", ["New", "Failed commissioning", "Ready", "Broken"])
def test_a_commissioned_machine_becomes_ready(start: StartMaas, label: str) -> None:
    maas = start(f"machines: {{n1: {label}}}")
    assert maas.do("n1", "commission").status_code == 200
    maas.clock.until(lambda: maas.path_of("n1") == [label, "Commissioning", "Testing", "Ready"])


def test_testing_can_be_left_out(start: StartMaas) -> None:
    maas = start("machines: {n1: New}")
    maas.do("n1", "commission", testing_scripts="none", enable_ssh="1")
    assert maas.watch("n1", "Ready")["power_state"] == "on"
    assert maas.path_of("n1") == ["New", "Commissioning", "Ready"]


def test_a_commissioning_machine_belongs_to_its_caller(maas: Maas) -> None:
    name = fresh(maas, "New")
    assert maas.do(name, "commission").json()["owner"] == "shipyard"
    assert maas.do(name, "abort").json()["owner"] is None


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"distro_series": "jammy"}, 200, "jammy"),
        ({"distro_series": "ubuntu/jammy"}, 200, "jammy"),
        ({"distro_series": "site-image"}, 200, "site-image"),
        ({"distro_series": "foo"}, 400, "'foo' is not a valid distro_series."),
        ({"hwe_kernel": "hwe-22.04"}, 200, "hwe-22.04"),
        ({"hwe_kernel": "linux"}, 400, "linux is not available"),
        ({"ephemeral_deploy": "true"}, 200, '"ephemeral_deploy": true'),
        ({"ephemeral_deploy": "perhaps"}, 400, "ephemeral_deploy"),
        ({"user_data": "a"}, 400, "user_data"),
    ],
)
def test_fields_of_deploy(maas: Maas, fields: dict[str, str], status: int, text: str) -> None:
    name = fresh(maas)
    answer = maas.do(name, "deploy", **fields)
    assert (answer.status_code, text in answer.text) == (status, True), answer.text
    assert maas.one(name)["status_name"] == ("Deploying" if status == 200 else "Ready")


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({}, "Releasing"),
        ({"erase": "true"}, "Disk erasing"),
        ({"quick_erase": "true"}, "Disk erasing"),
        ({"secure_erase": "1"}, "Disk erasing"),
        ({"erase": "false"}, "Releasing"),
    ],
)
def test_fields_of_release(maas: Maas, fields: dict[str, str], label: str) -> None:
    answer = maas.do(fresh(maas, "Deployed"), "release", **fields)
    assert answer.json()["status_name"] == label
    assert answer.json()["owner"] == "shipyard"


def test_a_machine_that_is_off_is_released_at_once(maas: Maas) -> None:
    name = fresh(maas, "Allocated")
    answer = maas.do(name, "release")
    assert (answer.json()["status_name"], answer.json()["owner"]) == ("Ready", None)
    assert maas.path_of(name) == ["Allocated", "Releasing", "Ready"]


def test_the_site_may_be_set_to_erase_always(start: StartMaas) -> None:
    maas = start("{machines: {n1: Deployed, n2: Deployed}, region: {erase_on_release: true}}")
    assert maas.get("maas/?op=get_config&name=enable_disk_erasing_on_release") is True
    assert maas.do("n1", "release", erase="false").json()["status_name"] == "Disk erasing"
    maas.post("maas/?op=set_config", name="enable_disk_erasing_on_release", value="false")
    assert maas.do("n2", "release").json()["status_name"] == "Releasing"


def test_unknown_settings_are_refused(maas: Maas) -> None:
    assert maas.call("GET", "maas/?op=get_config&name=colour").status_code == 400


def test_several_machines_are_released_all_or_none(start: StartMaas) -> None:
    maas = start("machines: {n1: Allocated, n2: Allocated, n3: Testing, n4: Ready}")
    ids = {name: maas.id_of(name) for name in ("n1", "n2", "n3", "n4")}
    assert maas.post("machines/?op=release", machines=[ids["n1"], ids["n3"]]).status_code == 409
    assert maas.one("n1")["status_name"] == "Allocated"
    done = maas.post("machines/?op=release", machines=[ids["n1"], ids["n2"], ids["n4"]])
    assert done.json() == [ids["n1"], ids["n2"]]
    assert maas.one("n2")["status_name"] == "Ready"


def test_tests_end_where_the_machine_was(start: StartMaas) -> None:
    maas = start("machines: {n1: Ready, n2: Deployed, n3: Allocated}")
    for name, label in (("n1", "Ready"), ("n2", "Deployed"), ("n3", "Allocated")):
        assert maas.do(name, "test").json()["status_name"] == "Testing"
        maas.watch(name, label)


@pytest.mark.parametrize("label", ["Ready", "Deployed", "Allocated", "Broken"])
def test_aborted_tests_end_where_the_machine_was(maas: Maas, label: str) -> None:
    name = fresh(maas, label)
    maas.do(name, "test")
    assert maas.do(name, "abort").json()["status_name"] == label


@pytest.mark.parametrize(("before", "after"), [("Ready", "Ready"), ("Deployed", "Deployed"), ("Allocated", "Ready")])
def test_failed_tests_are_overridden(start: StartMaas, before: str, after: str) -> None:
    maas = start(f"{{machines: {{n1: {before}}}, nodes: {{n1: {{test: fail}}}}}}")
    maas.do("n1", "test")
    maas.watch("n1", "Failed testing")
    assert maas.do("n1", "commission").status_code == 400
    assert maas.do("n1", "override_failed_testing").json()["status_name"] == after


def test_a_broken_machine_has_no_owner_and_is_fixed(maas: Maas) -> None:
    name = fresh(maas, "Allocated")
    broken = maas.do(name, "mark_broken", comment="smells of smoke").json()
    assert (broken["status"], broken["owner"], broken["error_description"]) == (8, None, "smells of smoke")
    fixed = maas.do(name, "mark_fixed").json()
    assert (fixed["status"], fixed["error_description"]) == (4, "")


def test_only_its_owner_breaks_a_machine(maas: Maas) -> None:
    assert maas.do(fresh(maas, "Allocated", owner="root"), "mark_broken").status_code == 403
    assert maas.do(fresh(maas, "Ready"), "mark_broken").status_code == 403


def test_power_on_and_off(start: StartMaas) -> None:
    maas = start("machines: {n1: Allocated}")
    assert maas.do("n1", "power_on").status_code == 200
    maas.clock.until(lambda: maas.one("n1")["power_state"] == "on")
    assert maas.ask("n1", "query_power_state") == {"state": "on"}
    assert maas.do("n1", "power_off", stop_mode="soft").status_code == 200
    maas.clock.until(lambda: maas.ask("n1", "query_power_state") == {"state": "off"})


def test_power_off_without_power_control_answers_null(maas: Maas) -> None:
    answer = maas.do(fresh(maas, "Deployed", power_type="manual"), "power_off")
    assert (answer.status_code, answer.json()) == (200, None)


def test_a_machine_that_is_switched_off_while_it_deploys_fails_in_the_end(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready}, durations: {deploy_nodes: 900, deploy_timeout: 1000}}")
    maas.do("n1", "deploy")
    maas.do("n1", "power_off")
    assert maas.watch("n1", "Failed deployment")["power_state"] == "off"


def test_annotations_are_set_and_removed(maas: Maas) -> None:
    name = fresh(maas, "Allocated")
    maas.do(name, "set_workload_annotations", a="1", b="2")
    assert maas.do(name, "set_workload_annotations", a="").json()["workload_annotations"] == {"b": "2"}
    assert maas.by(OTHER_ADMIN).do(name, "set_workload_annotations", a="1").status_code == 409


def test_rescue_mode_and_back(start: StartMaas) -> None:
    maas = start("machines: {n1: Deployed}")
    assert maas.do("n1", "rescue_mode").json()["status"] == 17
    maas.watch("n1", "Rescue mode")
    assert maas.do("n1", "exit_rescue_mode").json()["status"] == 19
    maas.watch("n1", "Deployed")
