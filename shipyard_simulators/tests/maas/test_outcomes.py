"""Outcomes of a scenario: machines that fail, hang or refuse (contract, section 12)."""

import pytest

from shipyard_simulators.tests.maas.client import StartMaas


@pytest.mark.parametrize(
    ("rule", "before", "operation", "form", "after"),
    [
        ("prepare: fail", "New", "commission", {}, "Failed commissioning"),
        ("prepare: never", "New", "commission", {}, "Failed commissioning"),
        ("prepare: slow", "New", "commission", {}, "Ready"),
        ("prepare: false_success", "New", "commission", {}, "Failed commissioning"),
        ("test: fail", "New", "commission", {}, "Failed testing"),
        ("test: never", "New", "commission", {}, "Failed testing"),
        ("bmc: fail", "New", "commission", {}, "Failed commissioning"),
        ("deploy: fail", "Ready", "deploy", {}, "Failed deployment"),
        ("deploy: never", "Ready", "deploy", {}, "Failed deployment"),
        ("deploy: slow", "Ready", "deploy", {}, "Deployed"),
        ("bmc: fail", "Ready", "deploy", {}, "Failed deployment"),
        ("release: fail", "Deployed", "release", {}, "Releasing failed"),
        ("release: never", "Deployed", "release", {}, "Releasing failed"),
        ("destroy: fail", "Deployed", "release", {}, "Releasing failed"),
        ("bmc: fail", "Deployed", "release", {}, "Releasing failed"),
        ("erase: fail", "Deployed", "release", {"erase": "true"}, "Failed disk erasing"),
        ("destroy: fail", "Deployed", "release", {"erase": "true"}, "Failed disk erasing"),
        ("bmc: fail", "Deployed", "release", {"erase": "true"}, "Failed disk erasing"),
        ("release: fail", "Deployed", "release", {"quick_erase": "true"}, "Releasing failed"),
        ("bmc: fail", "Ready", "test", {}, "Failed testing"),
    ],
)
def test_outcomes(start: StartMaas, rule: str, before: str, operation: str, form: dict[str, str], after: str) -> None:
    limits = "node_timeout: 100, deploy_timeout: 1000, release_timeout: 50"
    maas = start(f"{{machines: {{n1: {before}}}, nodes: {{n1: {{{rule}}}}}, durations: {{{limits}}}}}")
    assert maas.do("n1", operation, **form or {"comment": "x"}).status_code == 200
    machine = maas.watch("n1", after)
    if rule == "bmc: fail":
        maas.clock.until(lambda: maas.one("n1")["power_state"] == "error")
    if rule in ("prepare: never", "test: never"):
        assert machine["power_state"] == "off"


@pytest.mark.parametrize(
    ("name", "before", "operation", "after"),
    [
        ("n1-fails-prepare", "New", "commission", "Failed commissioning"),
        ("n1-fails-test", "New", "commission", "Failed testing"),
        ("n1-fails-deploy", "Ready", "deploy", "Failed deployment"),
        ("n1-fails-release", "Deployed", "release", "Releasing failed"),
        ("n1-fails-bmc", "Ready", "deploy", "Failed deployment"),
    ],
)
def test_a_machine_may_carry_its_outcome_in_its_name(
    start: StartMaas, name: str, before: str, operation: str, after: str
) -> None:
    maas = start(f"machines: {{{name}: {before}}}")
    maas.do(name, operation)
    maas.watch(name, after)


def test_erasing_has_no_limit_and_can_be_aborted(start: StartMaas) -> None:
    maas = start("machines: {n1-never-erase: Deployed}")
    maas.do("n1-never-erase", "release", erase="true")
    maas.clock.passes(1_000_000)
    assert maas.one("n1-never-erase")["status_name"] == "Disk erasing"
    assert maas.do("n1-never-erase", "abort").json()["status"] == 15


def test_a_full_erase_takes_much_longer_than_a_quick_one(start: StartMaas) -> None:
    maas = start("machines: {n1: Deployed, n2: Deployed}")
    maas.do("n1", "release", erase="true")
    maas.do("n2", "release", erase="true", quick_erase="true")
    maas.watch("n2", "Ready")
    assert maas.one("n1")["status_name"] == "Disk erasing"


def test_a_release_may_be_refused(start: StartMaas) -> None:
    maas = start("{machines: {n1: Deployed}, nodes: {n1: {release: refuse, times: 1}}}")
    refused = maas.do("n1", "release")
    assert (refused.status_code, "Retry-After" in refused.headers) == (409, False)
    assert maas.one("n1")["status_name"] == "Deployed"
    assert maas.do("n1", "release").status_code == 200


def test_a_deletion_may_be_refused(start: StartMaas) -> None:
    maas = start("machines: {n1-refuses-delete: Ready}")
    assert maas.call("DELETE", f"machines/{maas.id_of('n1-refuses-delete')}/").status_code == 400
    assert maas.one("n1-refuses-delete")["status_name"] == "Ready"


def test_a_deployment_may_be_refused_for_want_of_addresses(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready}, nodes: {n1: {deploy: refuse, times: 1}}}")
    refused = maas.do("n1", "deploy")
    assert (refused.status_code, "Retry-After" in refused.headers) == (503, False)
    assert maas.one("n1")["status_name"] == "Ready"
    maas.do("n1", "deploy")
    maas.watch("n1", "Deployed")


@pytest.mark.parametrize(
    ("label", "end"),
    [
        ("Commissioning", "Ready"),
        ("Testing", "Ready"),
        ("Deploying", "Deployed"),
        ("Releasing", "Ready"),
    ],
)
def test_an_operation_in_the_middle_ends_too(start: StartMaas, label: str, end: str) -> None:
    maas = start(f"machines: {{n1: {label}}}")
    maas.watch("n1", end)
    assert maas.path_of("n1")[0] == label


def test_an_outcome_may_apply_to_the_first_attempts_only(start: StartMaas) -> None:
    maas = start("{machines: {n1: New}, nodes: {n1: {prepare: fail, times: 1}}}")
    maas.do("n1", "commission")
    maas.watch("n1", "Failed commissioning")
    maas.do("n1", "commission")
    maas.watch("n1", "Ready")


def test_a_flapping_bmc_answers_every_other_time(start: StartMaas) -> None:
    maas = start("machines: {n1-flaps-bmc: Deployed}")
    states = [maas.ask("n1-flaps-bmc", "query_power_state")["state"] for _ in range(4)]
    assert states == ["error", "on", "error", "on"]


def test_a_silent_bmc_takes_its_time(start: StartMaas) -> None:
    maas = start("machines: {n1-never-bmc: Deployed}")
    assert maas.ask("n1-never-bmc", "query_power_state") == {"state": "error"}
    assert maas.clock.slept[-1] == 60


def test_more_deployments_than_there_is_room_for_fail(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready, n2: Ready, n3: Ready}, region: {deployments_at_once: 2}}")
    for name in ("n1", "n2", "n3"):
        maas.do(name, "deploy")
    assert "too many at once" in maas.watch("n3", "Failed deployment")["status_message"]
    maas.watch("n1", "Deployed")
    maas.watch("n2", "Deployed")
