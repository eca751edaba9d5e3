"""The fields of a machine, and lists of machines (contract, sections 5 and 6)."""

from collections.abc import Iterator

import pytest

from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.maas.client import API, OTHER_ADMIN, Maas, StartMaas, fresh, simulator


def test_a_machine_has_the_fields_to_use(maas: Maas) -> None:
    name = fresh(maas, "Deployed", tags=["control"], zone="rack03", pool="big", mac_addresses=["52:54:00:aa:bb:01"])
    machine = maas.one(name)
    expected = {
        "hostname": name,
        "fqdn": f"{name}.maas",
        "status": 6,
        "status_name": "Deployed",
        "power_type": "ipmi",
        "power_state": "on",
        "owner": "shipyard",
        "locked": False,
        "tag_names": ["control"],
        "owner_data": {},
        "workload_annotations": {},
        "architecture": "amd64/generic",
        "osystem": "ubuntu",
        "netboot": False,
        "node_type": 0,
        "node_type_name": "Machine",
        "resource_uri": f"{API}machines/{machine['system_id']}/",
    }
    assert {key: machine[key] for key in expected} == expected
    assert (machine["zone"]["name"], machine["pool"]["name"]) == ("rack03", "big")
    assert machine["boot_interface"]["mac_address"] == "52:54:00:aa:bb:01"
    assert machine["boot_interface"]["links"][0]["ip_address"] == machine["ip_addresses"][0]
    assert len(machine["system_id"]) == 6
    assert maas.get(f"machines/{machine['system_id']}/") == machine


def test_details_are_bson(maas: Maas) -> None:
    answer = maas.call("GET", f"machines/{maas.id_of(fresh(maas))}/?op=details")
    assert answer.headers["Content-Type"] == "application/bson"
    assert int.from_bytes(answer.content[:4], "little") == len(answer.content)
    assert b"\x05lshw\x00" in answer.content
    assert b"\x05lldp\x00" in answer.content


@pytest.fixture(scope="module")
def listed() -> Iterator[Maas]:
    machines = [
        {"hostname": "a1", "status": "Ready", "tags": ["control", "ssd"], "zone": "rack01", "pool": "p1"},
        {"hostname": "a2", "status": "Deployed", "tags": ["control"], "zone": "rack02", "owner": "root"},
        {"hostname": "a3", "status": "Failed commissioning", "tags": ["compute", "ssd"], "zone": "rack02"},
        {"hostname": "a4", "status": "Allocated", "cpu_count": 8, "memory": 1024, "agent_name": "x7"},
        {"hostname": "a5", "status": "New", "architecture": "arm64/generic", "domain": "site", "power_state": "error"},
        {"hostname": "a6", "status": "Releasing failed", "mac_addresses": ["52:54:00:00:00:aa"]},
    ]
    made, clock = simulator(machines=machines)
    with unserved(made):
        yield Maas(made.url, clock=clock)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "a1 a2 a3 a4 a5 a6"),
        ("hostname=a1", "a1"),
        ("hostname=a3&hostname=a1", "a1 a3"),
        ("hostname=a5.site", "a5"),
        ("hostname=A1", ""),
        ("hostname=unknown", ""),
        ("id=unknown", ""),
        ("tags=control", "a1 a2"),
        ("tags=control&tags=ssd", "a1"),
        ("tags=control,ssd", "a1"),
        ("tags=control&tags=compute", ""),
        ("not_tags=control", "a3 a4 a5 a6"),
        ("not_tags=control&not_tags=compute", "a4 a5 a6"),
        ("zone=rack01&zone=rack02", "a1 a2 a3"),
        ("zone=rack02&tags=ssd", "a3"),
        ("not_in_zone=default", "a1 a2 a3"),
        ("pool=p1", "a1"),
        ("not_in_pool=default", "a1"),
        ("owner=root", "a2"),
        ("owner=shipyard", "a4 a6"),
        ("not_owner=root", "a1 a3 a4 a5 a6"),
        ("status=ready", "a1"),
        ("status=ready&status=deployed", "a1 a2"),
        ("status=failed_releasing", "a6"),
        ("not_status=ready", "a2 a3 a4 a5 a6"),
        ("simple_status=failed", "a3 a6"),
        ("power_state=error", "a5"),
        ("not_power_state=off", "a2 a5"),
        ("arch=arm64", "a5"),
        ("arch=amd64/generic&hostname=a1", "a1"),
        ("agent_name=x7", "a4"),
        ("mem=2048&cpu_count=16", "a1 a2 a3 a5 a6"),
        ("cpu_count=64", ""),
        ("mac_address=52:54:00:00:00:AA", "a6"),
        ("not_mac_address=52:54:00:00:00:aa", "a1 a2 a3 a4 a5"),
        ("domain=site", "a5"),
        ("not_hostname=a1&not_hostname=a2", "a3 a4 a5 a6"),
        ("unheard_of=1", "a1 a2 a3 a4 a5 a6"),
    ],
)
def test_filters_of_the_list(listed: Maas, query: str, names: str) -> None:
    assert [each["hostname"] for each in listed.get(f"machines/?{query}")] == names.split()


@pytest.mark.parametrize(
    ("query", "field", "text"),
    [
        ("tags=gpu", "tags", "No such tag(s): 'gpu'."),
        ("tags=control&tags=gpu", "tags", "No such tag(s): 'gpu'."),
        ("not_tags=gpu", "not_tags", "No such tag(s): 'gpu'."),
        ("zone=mars", "zone", "No such zone: 'mars'."),
        ("not_in_zone=mars", "not_in_zone", "No such zone: 'mars'."),
        ("pool=deep", "pool", "No such pool: 'deep'."),
        ("mac_address=nonsense", "mac_address", "'nonsense' is not a valid MAC address."),
        ("mem=much", "mem", "Invalid value for mem: 'much' is not a number."),
    ],
)
def test_filters_that_cannot_be(listed: Maas, query: str, field: str, text: str) -> None:
    answer = listed.call("GET", f"machines/?{query}")
    assert (answer.status_code, answer.json()) == (400, {field: [text]})


def test_an_unknown_status_is_refused(listed: Maas) -> None:
    assert "status" in listed.call("GET", "machines/?status=sleeping").json()


def test_an_old_release_ignores_the_filter_of_statuses(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready, n2: New}, region: {filters_of_old_releases: true}}")
    assert len(maas.get("machines/?status=ready")) == 2


def test_a_machine_is_as_large_as_maas_documents_it(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready}, region: {seconds_a_machine: 0.5}}")
    answer = maas.call("GET", "machines/")
    (machine,) = answer.json()
    assert 17_000 < len(answer.content) < 20_000
    assert len({one["mac_address"] for one in machine["interface_set"]}) == 6
    assert machine["boot_interface"] == machine["interface_set"][0]
    disks = machine["physicalblockdevice_set"]
    assert (len(disks), disks, disks[0]) == (3, machine["blockdevice_set"], machine["boot_disk"])
    assert len({one["id"] for one in disks}) == 3
    assert machine["system_id"] in machine["boot_disk"]["resource_uri"]
    asked = maas.control("GET", "requests")[-1]
    assert (asked["machines"], asked["cost"], asked["sent"]) == (1, 0.5, len(answer.content))


def test_machines_that_are_no_longer_in_a_status_are_listed_by_id(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready, n2: New, n3: Deploying}}")
    ids = [maas.id_of(name) for name in ("n1", "n2")]
    query = "&".join([*(f"id={one}" for one in ids), "not_status=ready", "not_status=deployed"])
    assert [one["hostname"] for one in maas.get(f"machines/?{query}")] == ["n2"]


def test_the_power_parameters_of_all_or_some(listed: Maas) -> None:
    every = listed.get("machines/?op=power_parameters")
    assert len(every) == 6
    system_id = listed.id_of("a1")
    assert listed.get(f"machines/?op=power_parameters&id={system_id}") == {system_id: every[system_id]}
    assert listed.ask("a1", "power_parameters")["power_address"].startswith("10.1.")


def test_the_allocated_machines_are_the_callers(listed: Maas) -> None:
    assert [each["hostname"] for each in listed.get("machines/?op=list_allocated")] == ["a4"]
    assert listed.by(OTHER_ADMIN).get("machines/?op=list_allocated") == []
