"""Creating, patching, claiming and deleting nodes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest

from shipyard_simulators.ironic.site import SiteNode
from shipyard_simulators.tests.ironic.client import DEFAULTS, Ironic, StartIronic, add, said


def test_a_new_node_is_enrolled_and_nothing_is_known_of_it(shared: Ironic, name: str) -> None:
    answer = shared.call("POST", "/v1/nodes", {"driver": "redfish", "name": name, "extra": {"rack": "r1"}})

    node = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"{shared.url}/v1/nodes/{node['uuid']}"
    assert (node["provision_state"], node["target_provision_state"], node["power_state"]) == ("enroll", None, None)
    assert (node["traits"], node["extra"], node["instance_uuid"]) == ([], {"rack": "r1"}, None)
    assert (node["maintenance"], node["fault"], node["reservation"]) == (False, None, None)
    assert [link["rel"] for link in node["links"]] == ["self", "bookmark"]
    assert shared.node(name) == shared.node(node["uuid"]) == node


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({}, 400, "'driver' is a required property"),
        ({"driver": "unknown-driver"}, 400, "No valid host was found."),
        ({"driver": "redfish", "traits": ["CUSTOM_A"]}, 400, "'traits' was unexpected"),
        ({"driver": "redfish", "provision_state": "active"}, 400, "'provision_state' was unexpected"),
        ({"driver": "redfish", "name": "two words"}, 400, "invalid name"),
        ({"driver": "redfish", "name": "a" * 256}, 400, "invalid name"),
        ({"driver": "redfish", "extra": 5}, 400, "is not of type 'object'"),
        ({"driver": "redfish", "instance_uuid": "x"}, 400, "Expected UUID"),
        ({"driver": "redfish", "name": "taken"}, 409, "A node with name taken already exists."),
    ],
)
def test_a_node_that_cannot_be_created(start: StartIronic, fields: dict[str, Any], status: int, text: str) -> None:
    ironic = start()
    ironic.create("taken")

    answer = ironic.call("POST", "/v1/nodes", fields)

    assert answer.status_code == status
    assert text in said(answer)
    assert len(ironic.get("/v1/nodes")["nodes"]) == 1


def test_passwords_are_hidden(shared: Ironic, name: str) -> None:
    shared.create(name, driver_info={"address": "a", "redfish_password": "secret"})

    assert shared.node(name)["driver_info"] == {"address": "a", "redfish_password": "******"}
    shared.patch(name, add("/instance_info/configdrive", "contents"))
    assert shared.node(name)["instance_info"] == {"configdrive": "******"}


def test_fields_of_one_node_keep_its_links(shared: Ironic, name: str) -> None:
    shared.create(name)
    assert set(shared.get(f"/v1/nodes/{name}?fields=NAME, traits")) == {"name", "traits", "links"}


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ([], 200, ""),
        ([add("/extra/a", {"b": [1]})], 200, ""),
        ([add("/extra", None)], 200, ""),
        ([{"op": "replace", "path": "/resource_class", "value": "gpu"}], 200, ""),
        ([{"op": "remove", "path": "/extra/x"}], 200, ""),
        ([{"op": "remove", "path": "/extra/y"}], 400, "can't remove a non-existent object 'y'"),
        ([{"op": "replace", "path": "/extra/y", "value": 1}], 400, "can't replace a non-existent object 'y'"),
        ([{"op": "test", "path": "/extra/x", "value": 1}], 400, "'test' is not one of"),
        ([{"op": "add", "path": "/extra/y"}], 400, "does not contain a 'value' member"),
        ([add("/extra/y/z", 1)], 400, "member 'y' not found"),
        ([add("/traits", ["CUSTOM_A"])], 400, "Cannot patch /traits."),
        ([add("/provision_state", "active")], 400, "Cannot patch /provision_state."),
        ([add("/uuid", str(UUID(int=1)))], 400, "Cannot patch /uuid."),
        ([add("/nonsense", 1)], 400, "Cannot patch /nonsense."),
        ([add("/name", "two words")], 400, "Cannot change name to invalid name"),
        ([add("/name", "taken")], 409, "A node with name taken already exists."),
        ([add("/driver", "unknown-driver")], 400, "No valid host was found."),
        ([{"op": "remove", "path": "/driver"}], 400, "'driver' is a required property"),
        ([add("/instance_uuid", "x")], 400, "Expected UUID for instance_uuid"),
        ([add("/maintenance", "perhaps")], 400, "Unrecognized value"),
        ([add("/extra/a", 1), add("/traits", [])], 400, "Cannot patch"),
        ({"op": "add"}, 400, "is not of type 'array'"),
    ],
)
def test_patching_is_all_or_nothing(start: StartIronic, changes: Any, status: int, text: str) -> None:
    ironic = start()
    ironic.create("taken")
    before = ironic.create("n1", extra={"x": 1})

    answer = ironic.call("PATCH", "/v1/nodes/n1", changes)

    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json() == ironic.node("n1")
    else:
        assert text in said(answer)
        assert ironic.node("n1") == before


def test_a_renamed_node_answers_to_its_new_name_only(shared: Ironic, name: str) -> None:
    uuid = shared.create(name)["uuid"]

    assert shared.patch(name, add("/name", f"{name}-new")).status_code == 200

    assert shared.node(f"{name}-new")["uuid"] == uuid
    assert shared.call("GET", f"/v1/nodes/{name}").status_code == 404
    shared.create(name)


def test_taking_a_node_is_atomic_and_repeatable(shared: Ironic, name: str) -> None:
    mine, other = str(uuid4()), str(uuid4())
    first, second = shared.at(name, "available"), shared.at(f"{name}-2", "available")

    assert [shared.patch(first, add("/instance_uuid", mine)).status_code for _ in range(2)] == [200, 200]
    taken = shared.patch(first, add("/instance_uuid", other))
    assert (taken.status_code, f"is associated with instance {mine}" in said(taken)) == (409, True)
    elsewhere = shared.patch(second, add("/instance_uuid", mine))
    assert (elsewhere.status_code, "is already associated with a node" in said(elsewhere)) == (409, True)
    found = shared.get(f"/v1/nodes?instance_uuid={mine}")["nodes"]
    assert [node["name"] for node in found] == [first]


def test_of_concurrent_claims_of_a_node_one_succeeds(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    with ThreadPoolExecutor(8) as pool:
        takers = [str(uuid4()) for _ in range(16)]
        answers = list(pool.map(lambda taker: shared.patch(name, add("/instance_uuid", taker)).status_code, takers))

    assert sorted(answers) == [200, *[409] * 15]
    assert shared.node(name)["instance_uuid"] == takers[answers.index(200)]


def test_of_concurrent_verbs_one_is_accepted(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: shared.verb(name, "active").status_code, range(16)))

    assert answers.count(202) == 1
    assert set(answers) <= {202, 400, 409}
    shared.until(name, "active")
    assert shared.steps(name) == DEFAULTS


def test_reading_meanwhile_never_breaks(start: StartIronic) -> None:
    ironic = start(site=[SiteNode(f"n{number}") for number in range(40)], site_state="available")

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ironic.verb, f"n{number}", "active") for number in range(40)]
        lists = [pool.submit(ironic.call, "GET", "/v1/nodes/detail") for _ in range(20)]

    assert {each.result().status_code for each in asked} == {202}
    assert {each.result().status_code for each in lists} == {200}


@pytest.mark.parametrize(
    ("state", "values", "status"),
    [
        ("enroll", {}, 204),
        ("manageable", {}, 204),
        ("available", {}, 204),
        ("adopt failed", {}, 204),
        ("active", {}, 409),
        ("deploy failed", {}, 409),
        ("clean failed", {}, 409),
        ("clean failed", {"maintenance": True}, 204),
        ("available", {"instance_uuid": str(UUID(int=5))}, 409),
        ("available", {"protected": True}, 403),
    ],
)
def test_deleting(start: StartIronic, state: str, values: dict[str, Any], status: int) -> None:
    ironic = start()
    ironic.at("n1", state)
    ironic.put("n1", **values)

    answer = ironic.call("DELETE", "/v1/nodes/n1")

    assert answer.status_code == status
    assert ironic.call("GET", "/v1/nodes/n1").status_code == (404 if status == 204 else 200)
