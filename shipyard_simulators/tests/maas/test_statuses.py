"""Statuses of machines, and the operations that each allows (contract, sections 3 and 4)."""

import pytest

from shipyard_simulators.tests.maas.client import RELEASABLE, STATUSES, Maas, fresh


@pytest.mark.parametrize(("label", "number"), STATUSES.items())
def test_a_status_has_its_number_its_label_and_its_word(maas: Maas, label: str, number: int) -> None:
    name = fresh(maas, label)
    machine = maas.one(name)
    assert (machine["status"], machine["status_name"]) == (number, label)
    words = [word for word in ALL_WORDS if maas.get(f"machines/?hostname={name}&status={word}")]
    assert words == [ALL_WORDS[number]]


WORDS_OF_STATUSES = """
new commissioning failed_commissioning missing ready reserved deployed retired broken deploying allocated
failed_deployment releasing failed_releasing disk_erasing failed_disk_erasing rescue_mode entering_rescue_mode
failed_entering_rescue_mode exiting_rescue_mode failed_exiting_rescue_mode testing failed_testing
"""
ALL_WORDS = WORDS_OF_STATUSES.split()


@pytest.mark.parametrize("label", STATUSES)
def test_commission_in_every_status(maas: Maas, label: str) -> None:
    answer = maas.do(fresh(maas, label), "commission")
    if label in {"New", "Failed commissioning", "Ready", "Broken"}:
        assert (answer.status_code, answer.json()["status"]) == (200, 1)
        return
    assert answer.status_code == 400
    text = "Commission is not available because of the current state of the node."
    assert answer.json() == {"__all__": [text]}


@pytest.mark.parametrize("label", STATUSES)
def test_deploy_in_every_status(maas: Maas, label: str) -> None:
    answer = maas.do(fresh(maas, label), "deploy")
    if label in {"Ready", "Allocated"}:
        assert (answer.status_code, answer.json()["status"]) == (200, 9)
        assert answer.json()["owner"] == "shipyard"
        return
    assert (answer.status_code, "Retry-After" in answer.headers) == (409, False)
    assert answer.text == f"Can't deploy a machine that is in the '{label}' state"


@pytest.mark.parametrize("label", STATUSES)
def test_release_in_every_status(maas: Maas, label: str) -> None:
    name = fresh(maas, label, power_state="on")
    answer = maas.do(name, "release")
    if label in RELEASABLE:
        assert (answer.status_code, answer.json()["status_name"]) == (200, "Releasing")
    elif label in {"Ready", "Releasing"}:
        assert (answer.status_code, answer.json()["status_name"]) == (200, label)
    else:
        assert (answer.status_code, "Retry-After" in answer.headers) == (409, False)
        assert answer.text == f"Machine cannot be released in its current state ('{label}')."


@pytest.mark.parametrize("label", STATUSES)
def test_abort_in_every_status(maas: Maas, label: str) -> None:
    answer = maas.do(fresh(maas, label), "abort")
    ends = {"Commissioning": 0, "Deploying": 10, "Disk erasing": 15, "Testing": 0}
    if label in ends:
        assert (answer.status_code, answer.json()["status"]) == (200, ends[label])
        return
    assert (answer.status_code, "Retry-After" in answer.headers) == (409, False)


@pytest.mark.parametrize("label", STATUSES)
def test_a_machine_can_be_deleted_in_every_status(maas: Maas, label: str) -> None:
    system_id = maas.id_of(fresh(maas, label))
    assert maas.call("DELETE", f"machines/{system_id}/").status_code == 204
    answer = maas.call("GET", f"machines/{system_id}/")
    assert (answer.status_code, answer.text) == (404, "No Machine matches the given query.")


@pytest.mark.parametrize(
    ("operation", "label", "status"),
    [
        ("mark_fixed", "Ready", 409),
        ("override_failed_testing", "Ready", 409),
        ("power_on", "Ready", 409),
        ("set_workload_annotations", "Ready", 409),
        ("restore_networking_configuration", "New", 409),
        ("set_storage_layout", "Deployed", 409),
        ("set_storage_layout", "Allocated", 409),
        ("exit_rescue_mode", "Ready", 409),
        ("test", "New", 400),
        ("test", "Deploying", 400),
    ],
)
def test_other_operations_in_a_wrong_status(maas: Maas, operation: str, label: str, status: int) -> None:
    answer = maas.do(fresh(maas, label), operation)
    assert (answer.status_code, "Retry-After" in answer.headers) == (status, False)


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ("deploy", 403),
        ("release", 403),
        ("abort", 403),
        ("power_on", 403),
        ("power_off", 403),
        ("mark_broken", 403),
        ("set_workload_annotations", 403),
        ("test", 403),
        ("commission", 400),
    ],
)
def test_a_locked_machine_is_not_changed(maas: Maas, operation: str, status: int) -> None:
    name = fresh(maas, "Deployed" if operation != "commission" else "Ready", locked=True)
    assert maas.do(name, operation).status_code == status
    assert maas.call("DELETE", f"machines/{maas.id_of(name)}/").status_code == 204


def test_a_machine_is_unlocked_again(maas: Maas) -> None:
    name = fresh(maas, "Deployed")
    assert maas.do(name, "lock").json()["locked"] is True
    assert maas.do(name, "release").status_code == 403
    assert maas.do(name, "unlock").json()["locked"] is False
    assert maas.do(name, "release").status_code == 200


@pytest.mark.parametrize("operation", ["commission", "deploy", "release", "abort", "lock", "power_off"])
def test_an_unknown_machine_is_not_found(maas: Maas, operation: str) -> None:
    answer = maas.post(f"machines/unknown/?op={operation}")
    assert (answer.status_code, answer.text) == (404, "No Machine matches the given query.")
