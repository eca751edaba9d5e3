"""Creating, accepting, changing and allocating machines (contract, section 7)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shipyard_simulators.tests.maas.client import USER, Maas, StartMaas, fresh


@pytest.mark.parametrize(
    ("constraints", "name"),
    [
        ({"name": "b2"}, "b2"),
        ({}, "b1"),
        ({"tags": ["x", "y"]}, "b3"),
        ({"tags": "x,y"}, "b3"),
        ({"not_tags": "x"}, "b2"),
        ({"zone": "far"}, "b2"),
        ({"mem": "200000"}, "b3"),
        ({"pool": "p", "name": "b1"}, None),
        ({"name": "b4"}, None),
        ({"name": "unknown"}, None),
    ],
)
def test_constraints_of_allocate(start: StartMaas, constraints: dict[str, Any], name: str | None) -> None:
    machines = [
        {"hostname": "b1", "status": "Ready", "tags": ["x"]},
        {"hostname": "b2", "status": "Ready", "zone": "far", "pool": "p"},
        {"hostname": "b3", "status": "Ready", "tags": ["x", "y"], "memory": 262144},
        {"hostname": "b4", "status": "Deployed", "owner": "root"},
    ]
    maas = start(machines=machines)
    answer = maas.post("machines/?op=allocate", **constraints)
    if name is None:
        assert (answer.status_code, "Retry-After" in answer.headers) == (409, False)
        return
    assert (answer.json()["hostname"], answer.json()["status"], answer.json()["owner"]) == (name, 10, "shipyard")


def test_allocate_by_id(maas: Maas) -> None:
    name = fresh(maas)
    system_id = maas.id_of(name)
    dry = maas.post("machines/?op=allocate", system_id=system_id, dry_run="true")
    assert (dry.status_code, dry.json()["status_name"]) == (200, "Ready")
    assert maas.post("machines/?op=allocate", system_id=system_id).status_code == 200
    again = maas.post("machines/?op=allocate", system_id=system_id)
    assert (again.status_code, again.text) == (409, f"No machine with system ID {system_id} available.")


def test_allocate_with_an_unknown_tag(maas: Maas) -> None:
    answer = maas.post("machines/?op=allocate", tags="unheard-of")
    assert (answer.status_code, "tags" in answer.json()) == (400, True)


def test_two_callers_never_get_the_same_machine(start: StartMaas) -> None:
    maas = start(machines=[{"hostname": f"n{number}", "status": "Ready"} for number in range(8)])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: maas.post("machines/?op=allocate"), range(12)))
    given = [answer.json()["system_id"] for answer in answers if answer.status_code == 200]
    assert (len(given), len(set(given))) == (8, 8)


NEW_MACHINE = {"architecture": "amd64/generic", "hostname": "made", "power_type": "ipmi"}


@pytest.mark.parametrize(
    ("fields", "label"),
    [({}, "Commissioning"), ({"commission": "false"}, "New"), ({"deployed": "true"}, "Deployed")],
)
def test_machines_are_created(start: StartMaas, fields: dict[str, str], label: str) -> None:
    maas = start()
    form = {**NEW_MACHINE, "mac_addresses": ["52:54:00:00:01:01", "52:54:00:00:01:02"], **fields}
    answer = maas.post("machines/", **form, power_parameters_power_address="10.9.9.9")
    assert (answer.status_code, answer.json()["status_name"]) == (200, label), answer.text
    assert [one["mac_address"] for one in answer.json()["interface_set"]][:2] == form["mac_addresses"]
    assert maas.ask("made", "power_parameters") == {"power_address": "10.9.9.9"}
    known = maas.post("machines/", **{**form, "hostname": "other"})
    assert (known.status_code, "mac_addresses" in known.json()) == (400, True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"architecture": ""}, "architecture"),
        ({"mac_addresses": ""}, "mac_addresses"),
        ({"mac_addresses": "nonsense"}, "mac_addresses"),
        ({"hostname": "Not_A_Name"}, "hostname"),
        ({"hostname": "taken"}, "hostname"),
    ],
)
def test_machines_that_cannot_be_created(maas: Maas, changes: dict[str, str], field: str) -> None:
    maas.put(hostname="taken")
    answer = maas.post("machines/", **{**NEW_MACHINE, "mac_addresses": "52:54:00:00:02:01", **changes})
    assert (answer.status_code, list(answer.json())) == (400, [field])


def test_a_machine_without_a_name_gets_two_words(start: StartMaas) -> None:
    maas = start()
    answer = maas.by(USER).post("machines/", architecture="amd64/generic", mac_addresses="52:54:00:00:03:01")
    assert "-" in answer.json()["hostname"]
    assert answer.json()["status_name"] == "New"


def test_machines_are_accepted(start: StartMaas) -> None:
    maas = start("machines: {n1: New, n2: New, n3: Ready}")
    ids = {name: maas.id_of(name) for name in ("n1", "n2", "n3")}
    assert maas.post("machines/?op=accept", machines=[ids["n1"], ids["n3"]]).status_code == 409
    assert maas.post("machines/?op=accept", machines="unknown").status_code == 400
    assert [each["hostname"] for each in maas.post("machines/?op=accept", machines=ids["n1"]).json()] == ["n1"]
    assert [each["hostname"] for each in maas.post("machines/?op=accept_all").json()] == ["n2"]


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"hostname": "renamed"}, 200, "renamed"),
        ({"zone": "default", "pool": "default", "description": "in the corner"}, 200, "in the corner"),
        ({"power_parameters_power_address": "10.3.3.3"}, 200, ""),
        ({"zone": "mars"}, 400, "zone"),
        ({"pool": "deep"}, 400, "pool"),
        ({"hostname": "-"}, 400, "hostname"),
        ({"hostname": "occupied"}, 400, "hostname"),
    ],
)
def test_a_machine_is_changed(maas: Maas, fields: dict[str, str], status: int, text: str) -> None:
    maas.put(hostname="occupied")
    system_id = maas.id_of(fresh(maas))
    answer = maas.call("PUT", f"machines/{system_id}/", data=fields)
    assert (answer.status_code, text in answer.text) == (status, True)
