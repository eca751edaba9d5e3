"""Tags, pools, zones, events, results, controllers and images (contract, sections 8, 9 and 13)."""

import base64
import time
from typing import Any

import pytest

from shipyard_simulators.tests.maas.client import API, Maas, StartMaas, fresh


def test_the_life_of_a_tag(maas: Maas) -> None:
    name = fresh(maas)
    system_id = maas.id_of(name)
    made = maas.post("tags/", name="gold", comment="dear", kernel_opts="quiet")
    assert (made.json()["comment"], made.json()["kernel_opts"]) == ("dear", "quiet")
    assert "gold" in [tag["name"] for tag in maas.get("tags/")]
    update = maas.post("tags/gold/?op=update_nodes", add=[system_id, "unknown"])
    assert update.json() == {"added": 1, "removed": 0}
    for operation in ("machines", "nodes"):
        assert [each["hostname"] for each in maas.get(f"tags/gold/?op={operation}")] == [name]
    assert maas.one(name)["tag_names"] == ["gold"]
    assert maas.post("tags/gold/?op=update_nodes", remove=system_id).json() == {"added": 0, "removed": 1}
    assert maas.get("tags/gold/?op=machines") == []
    assert maas.call("DELETE", "tags/gold/").status_code == 204
    assert maas.call("GET", "tags/gold/").status_code == 404


@pytest.mark.parametrize("name", ["", "a=b", "a:b", "with space", "x" * 257, "twice"])
def test_tags_that_cannot_be(maas: Maas, name: str) -> None:
    maas.put(hostname="tagged", tags=["twice"])
    answer = maas.post("tags/", name=name, comment="x")
    assert (answer.status_code, list(answer.json())) == (400, ["name"])


def test_a_tag_with_a_definition_is_left_to_maas(maas: Maas) -> None:
    maas.post("tags/", name="virtual", definition="//node")
    assert maas.post("tags/virtual/?op=update_nodes", add="x").status_code == 400


@pytest.mark.parametrize("kind", ["pool", "zone"])
def test_pools_and_zones(maas: Maas, kind: str) -> None:
    many = {"pool": "resourcepools/", "zone": "zones/"}[kind]
    made = maas.post(many, name=f"the {kind}-1", description="far").json()
    one = f"resourcepool/{made['id']}/" if kind == "pool" else f"zones/{made['name']}/"
    assert maas.get(one) == made
    assert {"default", f"the {kind}-1"} <= {each["name"] for each in maas.get(many)}
    assert maas.post(many, name=f"the {kind}-1").status_code == 400
    assert maas.post(many, name="no/name").status_code == 400
    name = fresh(maas)
    maas.call("PUT", f"machines/{maas.id_of(name)}/", data={kind: made["name"]})
    assert maas.one(name)[kind] == made
    assert maas.call("DELETE", one).status_code == 400
    maas.call("DELETE", f"machines/{maas.id_of(name)}/")
    assert maas.call("DELETE", one).status_code == 204
    assert maas.call("GET", one).status_code == 404


def test_events_are_paged_in_both_directions(start: StartMaas) -> None:
    maas = start("machines: {n1: New}")
    maas.do("n1", "commission")
    maas.watch("n1", "Ready")
    every = maas.get("events/?op=query&hostname=n1")["events"]
    assert [each["type"] for each in every] == ["Ready", "Testing", "Commissioning", "New"]
    assert [each["id"] for each in every] == sorted((each["id"] for each in every), reverse=True)
    oldest = every[-1]["id"]
    page = maas.get(f"events/?op=query&hostname=n1&limit=2&after={oldest}")
    assert [each["type"] for each in page["events"]] == ["Testing", "Commissioning"]
    rest = maas.get(page["next_uri"].removeprefix(API))
    assert [each["type"] for each in rest["events"]] == ["Ready"]
    assert [each["type"] for each in maas.get(rest["prev_uri"].removeprefix(API))["events"]] == [
        "Testing",
        "Commissioning",
    ]
    end = maas.get(rest["next_uri"].removeprefix(API))
    assert (end["count"], end["events"]) == (0, [])
    assert f"after={every[0]['id']}" in end["next_uri"]


def test_an_event_has_its_machine_type_and_text(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready}, nodes: {n1: {deploy: fail, reason: no disk}}}")
    maas.do("n1", "deploy")
    machine = maas.watch("n1", "Failed deployment")
    assert machine["status_message"] == "Failed deployment - no disk"
    (event,) = maas.get("events/?op=query&hostname=n1&level=ERROR")["events"]
    assert (event["node"], event["hostname"], event["level"]) == (machine["system_id"], "n1", "ERROR")
    assert (event["type"], event["description"]) == ("Failed deployment", "no disk")
    assert time.strptime(event["created"], "%a, %d %b. %Y %H:%M:%S")
    asked = maas.get("events/?op=query&hostname=n1&owner=shipyard")["events"]
    assert [each["type"] for each in asked] == ["Deploying", "Allocated"]


@pytest.mark.parametrize("query", ["limit=1001", "limit=0", "limit=many", "before=1&after=1", "level=LOUD", "after=x"])
def test_questions_for_events_that_are_refused(maas: Maas, query: str) -> None:
    assert maas.call("GET", f"events/?op=query&{query}").status_code == 400


def test_levels_of_events(start: StartMaas) -> None:
    maas = start("machines: {n1: Allocated}")
    maas.do("n1", "power_on")
    maas.clock.until(lambda: maas.one("n1")["power_state"] == "on")
    assert "Power on" in [each["type"] for each in maas.get("events/?op=query&level=DEBUG")["events"]]
    assert "Power on" not in [each["type"] for each in maas.get("events/?op=query")["events"]]


def test_results_of_scripts(start: StartMaas) -> None:
    maas = start("{machines: {n1: New}, nodes: {n1: {deploy: fail, reason: no disk}}}")
    maas.do("n1", "commission")
    maas.watch("n1", "Ready")
    maas.do("n1", "deploy")
    machine = maas.watch("n1", "Failed deployment")
    assert (machine["commissioning_status_name"], machine["testing_status_name"]) == ("Passed", "Passed")
    system_id = machine["system_id"]
    results = maas.get(f"nodes/{system_id}/results/")
    assert [each["type_name"] for each in results] == ["Commissioning", "Testing", "Installation"]
    (installed,) = maas.get(f"nodes/{system_id}/results/?type=installation&include_output=true")
    assert base64.b64decode(installed["results"][0]["output"]) == b"no disk"
    assert installed["id"] == machine["current_installation_result_id"]
    (old,) = maas.get(f"installation-results/?system_id={system_id}&result_type=1")
    assert (base64.b64decode(old["data"]), old["result_type"]) == (b"no disk", 1)
    (old,) = maas.get(f"commissioning-results/?system_id={system_id}")
    assert old["result_type"] == 0
    assert maas.call("GET", f"nodes/{system_id}/results/?type=7").status_code == 400


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("rackcontrollers/?op=power_parameters", {"rackaa": {}}),
        ("rackcontrollers/rackaa/?op=power_parameters", {}),
        ("boot-resources/?op=is_importing", False),
        ("regioncontrollers/", []),
        ("devices/", []),
        ("nodes/{id}/interfaces/", []),
        ("nodes/{id}/blockdevices/", []),
        ("nodes/{id}/volume-groups/", []),
        *((f"nodes/rackaa/{part}/", []) for part in ("interfaces", "blockdevices", "volume-groups")),
        ("nodes/{id}/results/", []),
    ],
)
def test_small_answers(maas: Maas, path: str, answer: Any) -> None:
    assert maas.get(path.replace("{id}", maas.id_of(fresh(maas)))) == answer


def test_the_rack_controller(maas: Maas) -> None:
    (rack,) = maas.get("rackcontrollers/")
    assert maas.get(f"rackcontrollers/{rack['system_id']}/") == rack
    assert maas.call("GET", "rackcontrollers/unknown/").status_code == 404
    services = {each["name"]: each["status"] for each in rack["service_set"]}
    assert services.items() >= dict.fromkeys(("http", "dhcpd", "rackd", "tftp"), "running").items()


def test_the_images(maas: Maas) -> None:
    images = {each["name"]: each["architecture"] for each in maas.get("boot-resources/")}
    assert (images["ubuntu/jammy"], images["custom/site-image"]) == ("amd64/ga-22.04", "amd64/generic")
    assert {text.count("/") for pair in images.items() for text in pair} == {1}


def test_nodes_are_machines(maas: Maas) -> None:
    name = fresh(maas)
    (node,) = maas.get(f"nodes/?hostname={name}")
    assert maas.get(f"nodes/{node['system_id']}/") == maas.one(name)


@pytest.mark.parametrize("operation", ["restore_networking_configuration", "restore_storage_configuration"])
def test_configuration_of_a_ready_machine(maas: Maas, operation: str) -> None:
    name = fresh(maas)
    assert maas.call("POST", f"machines/{maas.id_of(name)}/?op={operation}").status_code == 200
