"""The Ironic simulator against the contract it speaks: plain HTTP, no adapter of ours between."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import requests

from shipyard_simulators.ironic.conductor import Limits
from shipyard_simulators.ironic.simulator import IronicSimulator, running
from shipyard_simulators.ironic.site import SiteNode, SiteUnreadable, read_site
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, refusal

ROOT = Path(__file__).parents[2]
FIVE_GROUPS = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
PATIENCE = 15.0  # seconds; nothing takes that long, it only ends a test that would hang
VERSION = "X-OpenStack-Ironic-API-Version"
LATEST = "1.115"
DEFAULTS = [
    "deploy.deploy",
    "deploy.write_image",
    "deploy.prepare_instance_boot",
    "deploy.tear_down_agent",
    "deploy.switch_to_tenant_network",
    "deploy.boot_instance",
]


class Ironic:
    """A client of a running simulator that knows nothing but paths."""

    def __init__(self, simulator: IronicSimulator) -> None:
        self.simulator, self.url = simulator, simulator.url

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = LATEST, **more: Any) -> Any:
        headers = {**({VERSION: version} if version else {}), **more.pop("headers", {})}
        return HTTP.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=PATIENCE, **more)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def create(self, name: str, driver: str = "redfish", **fields: Any) -> Any:
        answer = self.call("POST", "/v1/nodes", {"driver": driver, "name": name, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def put(self, name: str, **values: Any) -> None:
        assert self.call("PUT", f"/simulator/nodes/{name}", values).status_code == 204

    def at(self, name: str, state: str, **fields: Any) -> str:
        """Create a node that is in that state already and return its name."""
        self.create(name, **fields)
        self.put(name, provision_state=state)
        return name

    def node(self, name: str) -> Any:
        return self.get(f"/v1/nodes/{name}")

    def patch(self, name: str, *changes: dict[str, Any], version: str = LATEST) -> Any:
        return self.call("PATCH", f"/v1/nodes/{name}", list(changes), version=version)

    def verb(self, name: str, target: str, *, version: str = LATEST, **body: Any) -> Any:
        return self.call("PUT", f"/v1/nodes/{name}/states/provision", {"target": target, **body}, version=version)

    def ask(self, name: str, target: str, **body: Any) -> None:
        answer = self.verb(name, target, **body)
        assert answer.status_code == 202, answer.text

    def until(self, name: str, *states: str) -> Any:
        """Return the node once it is in one of the states."""
        deadline = time.monotonic() + PATIENCE
        while (node := self.node(name))["provision_state"] not in states:
            assert time.monotonic() < deadline, f"{name} is {node['provision_state']}, never one of {states}"
            time.sleep(0.005)
        return node

    def run(self, name: str, target: str, *states: str, **body: Any) -> Any:
        self.ask(name, target, **body)
        return self.until(name, *states)

    def states(self, name: str) -> list[str]:
        """Return every state that the node went through, by the log."""
        return [each["state"] for each in self.get("/simulator/transitions").get(name, [])]

    def steps(self, name: str) -> list[str]:
        return [each["step"] for each in self.log("step", name) if each["kind"] == "deploy"]

    def log(self, event: str, name: str = "") -> list[dict[str, Any]]:
        path = f"/simulator/log?node={name}" if name else "/simulator/log"
        return [entry for entry in self.get(path) if entry["event"] == event]


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def step(dotted: str, priority: Any = 110, **args: Any) -> dict[str, Any]:
    interface, name = dotted.split(".")
    return {"interface": interface, "step": name, "args": args, "priority": priority}


def said(answer: Any) -> str:
    """Return the text of an error, which is JSON in a string in JSON."""
    inner = json.loads(answer.json()["error_message"])
    return str(inner.get("faultstring", inner.get("description")))


StartIronic = Callable[..., Ironic]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartIronic]:
    """What starts an Ironic that plays the given scenario fast; its files are still there when it ends."""

    def start_ironic(scenario: str = "", *, time_scale: float = 0.001, **options: Any) -> Ironic:
        entered = running(parse_scenario(scenario), time_scale=time_scale, **options)
        return Ironic(cleanup.enter_context(entered))

    with ExitStack() as cleanup:
        yield start_ironic


@pytest.fixture(scope="module")
def shared() -> Iterator[Ironic]:
    """One Ironic for all tests that only ask, or that work on nodes nobody else looks at."""
    with running(time_scale=0.001) as simulator:
        yield Ironic(simulator)


@pytest.fixture
def name() -> str:
    """A node's name that nobody has."""
    return f"n-{uuid4()}"


# Versions and discovery


@pytest.mark.parametrize(
    ("asked", "status", "used"),
    [
        (None, 200, "1.1"),
        ("", 200, "1.1"),
        ("1.69", 200, "1.69"),
        ("latest", 200, LATEST),
        ("LATEST", 200, LATEST),
        (LATEST, 200, LATEST),
        ("1.116", 406, None),
        ("1.0", 406, None),
        ("2.1", 406, None),
    ],
)
@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/nodes"])
def test_every_answer_has_the_range_of_versions(
    shared: Ironic, path: str, asked: str | None, status: int, used: str | None
) -> None:
    answer = shared.call("GET", path, version=asked)

    assert answer.status_code == status
    assert answer.headers["X-OpenStack-Ironic-API-Minimum-Version"] == "1.1"
    assert answer.headers["X-OpenStack-Ironic-API-Maximum-Version"] == LATEST
    assert answer.headers.get(VERSION) == used


@pytest.mark.parametrize("asked", ["abc", "1", "1.55.1"])
def test_a_version_that_cannot_be_read_is_406_without_a_range(shared: Ironic, asked: str) -> None:
    answer = shared.call("GET", "/v1", version=asked)

    assert (answer.status_code, said(answer)) == (406, f"Invalid value for {VERSION} header")
    assert "X-OpenStack-Ironic-API-Maximum-Version" not in answer.headers


def test_the_header_that_all_services_share_goes_first(shared: Ironic) -> None:
    headers = {"OpenStack-API-Version": "compute 2.1, baremetal 1.80"}
    assert shared.call("GET", "/v1", version="1.20", headers=headers).headers[VERSION] == "1.80"


def test_an_older_ironic_offers_less(start: StartIronic) -> None:
    ironic = start(highest=69)

    assert ironic.call("GET", "/v1", version="1.70").status_code == 406
    answer = ironic.call("GET", "/v1", version=None)
    assert answer.headers["X-OpenStack-Ironic-API-Maximum-Version"] == "1.69"
    assert answer.json()["version"]["version"] == "1.69"


@pytest.mark.parametrize(
    ("method", "path", "body", "version"),
    [
        ("GET", "/v1/nodes/{n}?fields=traits", None, "1.36"),
        ("GET", "/v1/nodes?fields=fault", None, "1.41"),
        ("GET", "/v1/nodes/{n}/traits", None, "1.36"),
        ("PUT", "/v1/nodes/{n}/traits/CUSTOM_A", None, "1.36"),
        ("GET", "/v1/nodes/{n}/history", None, "1.77"),
        ("GET", "/v1/nodes/{n}/inventory", None, "1.80"),
        ("GET", "/v1/conductors", None, "1.48"),
        ("GET", "/v1/allocations", None, "1.51"),
        ("POST", "/v1/nodes", {"driver": "redfish", "automated_clean": False}, "1.46"),
        ("PATCH", "/v1/nodes/{n}", [add("/automated_clean", False)], "1.46"),
        ("PUT", "/v1/nodes/{n}/states/provision", {"target": "deploy"}, "1.72"),
        ("PUT", "/v1/nodes/{n}/states/provision", {"target": "undeploy"}, "1.72"),
        ("PUT", "/v1/nodes/{n}/states/provision", {"target": "unhold"}, "1.84"),
    ],
)
def test_what_came_later_is_406(shared: Ironic, name: str, method: str, path: str, body: Any, version: str) -> None:
    shared.create(name)
    assert shared.call(method, path.format(n=name), body, version=version).status_code == 406


def test_nodes_have_no_names_in_the_first_versions(shared: Ironic, name: str) -> None:
    uuid = shared.create(name)["uuid"]

    assert shared.call("GET", f"/v1/nodes/{name}", version=None).status_code == 404
    answer = shared.call("GET", f"/v1/nodes/{uuid}", version=None)
    assert answer.status_code == 200
    assert not {"name", "traits", "fault"} & set(answer.json())


# Who is let in


def test_without_authentication_everybody_is_let_in(shared: Ironic) -> None:
    assert shared.call("GET", "/v1/nodes", headers={"X-Auth-Token": "whatever"}).status_code == 200


@pytest.mark.parametrize(
    ("user", "status"), [(("admin", "right"), 200), (("admin", "wrong"), 401), (("root", "right"), 401), (None, 401)]
)
def test_basic_authentication(start: StartIronic, user: tuple[str, str] | None, status: int) -> None:
    ironic = start(basic=("admin", "right"))

    answer = ironic.call("GET", "/v1/nodes", auth=user)

    assert answer.status_code == status
    if status == 401:
        assert answer.json()["error"]["code"] == 401
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="Baremetal API"'
    assert ironic.call("GET", "/v1").status_code == 200


def test_an_authorization_that_cannot_be_read_is_400(start: StartIronic) -> None:
    answer = start(basic=("admin", "right")).call("GET", "/v1/nodes", headers={"Authorization": "Basic ***"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)


@pytest.mark.parametrize(("token", "status"), [("right", 200), ("wrong", 401), (None, 401)])
def test_a_token_as_behind_a_keystone(start: StartIronic, token: str | None, status: int) -> None:
    ironic = start(token="right")

    answer = ironic.call("GET", "/v1/nodes", headers={"X-Auth-Token": token} if token else {})

    assert answer.status_code == status
    if status == 401:
        assert answer.json()["error"]["title"] == "Unauthorized"
        assert answer.headers["WWW-Authenticate"].startswith("Keystone uri=")
    assert ironic.call("GET", "/").status_code == 200


# Errors


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/v1/nodes/nobody", 404, "Node nobody could not be found."),
        ("GET", "/v1/nowhere", 404, ""),
        ("PUT", "/v1/nodes", 405, ""),
        ("GET", "/v1/nodes?color=red", 400, "Unexpected arguments: color"),
        ("GET", "/v1/nodes?fields=foo", 500, "has no attribute 'foo'"),
        ("GET", "/v1/nodes?fields=created_at", 400, "Field created_at is not a valid field."),
        ("GET", "/v1/nodes?provision_state=sleeping", 400, 'Provision state "sleeping" is not valid'),
        ("GET", "/v1/nodes?limit=0", 400, "Limit must be positive"),
        ("GET", "/v1/nodes?limit=many", 400, "limit"),
        ("GET", "/v1/nodes?marker=n1", 400, "Expected UUID for marker: n1"),
        ("GET", "/v1/nodes?sort_key=foo", 400, 'The sort_key value "foo" is an invalid field for sorting'),
        ("GET", "/v1/nodes?sort_dir=up", 400, "sort direction"),
        ("GET", "/v1/nodes?detail=true&fields=name", 400, "Can not specify ?detail=True and fields"),
        ("GET", "/v1/nodes?maintenance=perhaps", 400, "Unrecognized value 'perhaps'"),
        ("GET", "/v1/nodes?fault=tired", 400, 'Unrecognized fault "tired"'),
        ("GET", "/v1/nodes?instance_uuid=foo", 400, "Expected UUID for instance_uuid: foo"),
        ("GET", f"/v1/nodes?marker={UUID(int=7)}", 404, "could not be found"),
        ("GET", f"/v1/ports/{UUID(int=7)}", 404, "could not be found"),
        ("GET", "/v1/allocations/nobody", 404, "could not be found"),
        ("GET", "/v1/deploy_templates/CUSTOM_NOBODY", 404, "could not be found"),
    ],
)
def test_errors_are_json_in_a_string(shared: Ironic, method: str, path: str, status: int, text: str) -> None:
    answer = shared.call(method, path)

    assert answer.status_code == status
    assert text in said(answer)
    assert answer.headers["Content-Type"].startswith("application/json")


# Nodes


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
        ({"driver": "nobodys"}, 400, "No valid host was found."),
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
        ([add("/driver", "nobodys")], 400, "No valid host was found."),
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


def test_of_many_who_take_a_node_at_once_one_gets_it(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    with ThreadPoolExecutor(8) as pool:
        takers = [str(uuid4()) for _ in range(16)]
        answers = list(pool.map(lambda taker: shared.patch(name, add("/instance_uuid", taker)).status_code, takers))

    assert sorted(answers) == [200, *[409] * 15]
    assert shared.node(name)["instance_uuid"] == takers[answers.index(200)]


def test_of_many_who_ask_for_a_verb_at_once_one_is_heard(shared: Ironic, name: str) -> None:
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


# Lists


@pytest.fixture(scope="module")
def site() -> Iterator[Ironic]:
    with running(time_scale=0.001) as simulator:
        ironic = Ironic(simulator)
        ironic.create("a", resource_class="small", owner="p1", extra={"rack": "r1"})
        ironic.at("b", "available", resource_class="small", lessee="p1", shard="s1")
        ironic.at("c", "active", resource_class="big", description="the big one")
        ironic.put("c", instance_uuid=str(UUID(int=3)), traits=["CUSTOM_GPU"])
        ironic.at("d", "clean failed", driver="ipmi", conductor_group="west")
        ironic.put("d", maintenance=True, fault="clean failure", retired=True)
        yield ironic


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "abcd"),
        ("provision_state=available", "b"),
        ("maintenance=true", "d"),
        ("maintenance=False", "abc"),
        ("associated=true", "c"),
        ("associated=false", "abd"),
        (f"instance_uuid={UUID(int=3)}", "c"),
        ("resource_class=small", "ab"),
        ("resource_class=small&provision_state=enroll", "a"),
        ("driver=ipmi", "d"),
        ("fault=clean%20failure", "d"),
        ("conductor_group=west", "d"),
        ("conductor=conductor-1", "abcd"),
        ("owner=p1", "a"),
        ("lessee=p1", "b"),
        ("project=p1", "ab"),
        ("shard=s1", "b"),
        ("retired=1", "d"),
        ("description_contains=big", "c"),
        ("sort_key=name&sort_dir=desc", "dcba"),
        ("sort_key=resource_class", "cabd"),
    ],
)
def test_lists_are_filtered_and_sorted(site: Ironic, query: str, names: str) -> None:
    assert "".join(node["name"] for node in site.get(f"/v1/nodes?{query}")["nodes"]) == names


def test_a_list_shows_few_fields_unless_asked_for_more(site: Ironic) -> None:
    few = {"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name", "links"}

    assert set(site.get("/v1/nodes")["nodes"][0]) == few
    named = site.get("/v1/nodes?fields=name,traits,extra")["nodes"]
    assert set(named[0]) == {"name", "traits", "extra", "links"}
    assert [node["traits"] for node in named] == [[], [], ["CUSTOM_GPU"], []]
    assert site.get("/v1/nodes?detail=True") == site.get("/v1/nodes/detail")
    assert "driver_info" in site.get("/v1/nodes/detail")["nodes"][0]


@pytest.mark.parametrize(
    ("limit", "pages"), [(1, "a b c d -"), (2, "ab cd -"), (3, "abc d"), (4, "abcd -"), (9, "abcd")]
)
def test_a_full_page_names_the_next_one_even_if_that_is_empty(site: Ironic, limit: int, pages: str) -> None:
    seen, path = [], f"/v1/nodes?fields=name,uuid&limit={limit}"
    while path:
        answer = site.get(path)
        seen.append("".join(node["name"] for node in answer["nodes"]) or "-")
        assert all(set(node) == {"name", "uuid", "links"} for node in answer["nodes"])
        path = answer.get("next", "").removeprefix(site.url)
    assert " ".join(seen) == pages


def test_the_next_page_keeps_the_filters(site: Ironic) -> None:
    following = site.get("/v1/nodes?maintenance=false&limit=2")["next"].removeprefix(site.url)
    assert [node["name"] for node in site.get(following)["nodes"]] == ["c"]


def test_a_page_has_a_thousand_nodes_at_most(start: StartIronic) -> None:
    ironic = start(site=[SiteNode(f"n{number:04}") for number in range(1001)])

    answer = ironic.get("/v1/nodes?fields=name&limit=5000")

    assert len(answer["nodes"]) == 1000
    assert len(ironic.get(answer["next"].removeprefix(ironic.url))["nodes"]) == 1


# Verbs and states


@pytest.mark.parametrize(
    ("driver", "verbs", "states"),
    [
        ("fake-hardware", "manage", "verifying manageable"),
        ("fake-hardware", "manage inspect", "verifying manageable inspecting manageable"),
        ("fake-hardware", "manage provide", "verifying manageable cleaning available"),
        ("fake-hardware", "manage provide manage", "verifying manageable cleaning available manageable"),
        ("fake-hardware", "manage provide active", "verifying manageable cleaning available deploying active"),
        ("redfish", "manage inspect", "verifying manageable inspecting|inspect wait|inspecting manageable"),
        ("redfish", "manage provide", "verifying manageable cleaning|clean wait|cleaning available"),
        (
            "redfish",
            "manage provide active deleted",
            "verifying manageable cleaning|clean wait|cleaning available deploying|wait call-back|deploying active "
            "deleting|cleaning|clean wait|cleaning available",
        ),
        ("redfish", "manage adopt", "verifying manageable adopting active"),
    ],
)
def test_a_node_goes_through_its_states(shared: Ironic, name: str, driver: str, verbs: str, states: str) -> None:
    shared.create(name, driver)

    for verb in verbs.split():
        shared.ask(name, verb)
        deadline = time.monotonic() + PATIENCE
        while shared.node(name)["target_provision_state"] is not None:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    seen = states.replace("inspect wait", "inspect~wait").replace("clean wait", "clean~wait")
    wanted = [
        each.replace("~", " ") for each in seen.replace("wait call-back", "wait~call-back").replace("|", " ").split()
    ]
    assert shared.states(name) == wanted


def test_a_verb_is_answered_without_a_body(shared: Ironic, name: str) -> None:
    shared.create(name)

    answer = shared.verb(name, "manage")

    assert (answer.status_code, answer.content, answer.headers.get("Content-Type")) == (202, b"", None)
    assert answer.headers["Location"] == f"{shared.url}/v1/nodes/{name}/states"
    shared.until(name, "manageable")
    states = shared.get(f"/v1/nodes/{name}/states")
    assert (states["provision_state"], states["power_state"], states["last_error"]) == ("manageable", "power off", None)


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        ("enroll", "provide inspect active deleted abort clean adopt rebuild"),
        ("manageable", "manage active deleted abort rebuild"),
        ("available", "provide inspect deleted abort clean rebuild"),
        ("inspect failed", "provide active deleted abort"),
        ("clean failed", "provide inspect active deleted abort"),
        ("inspect wait", "manage provide deleted"),
        ("wait call-back", "active manage rebuild"),
        ("deploy failed", "manage provide abort"),
        ("active", "active manage provide inspect abort"),
        ("error", "active manage provide"),
        ("deploy hold", "active deleted"),
    ],
)
def test_a_verb_in_the_wrong_state_is_400(shared: Ironic, name: str, state: str, verbs: str) -> None:
    shared.at(name, state)
    uuid = shared.node(name)["uuid"]

    for verb in verbs.split():
        answer = shared.verb(name, verb)
        text = f'The requested action "{verb}" can not be performed on node "{uuid}" while it is in state "{state}".'
        assert (answer.status_code, said(answer)) == (400, text)
    assert shared.node(name)["provision_state"] == state


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Missing mandatory parameter: target"),
        ({"target": "manage", "foo": 1}, "Unexpected arguments: foo"),
        ({"target": "fly"}, '"fly" can not be performed'),
        ({"target": "clean"}, '"clean_steps" is required'),
        ({"target": "provide", "deploy_steps": [step("bios.factory_reset")]}, '"deploy_steps" is only valid'),
        ({"target": "provide", "configdrive": "x"}, "config drive"),
        ({"target": "provide", "clean_steps": [{"interface": "deploy", "step": "x"}]}, '"clean_steps" is only valid'),
    ],
)
def test_a_request_for_a_verb_that_makes_no_sense(shared: Ironic, name: str, body: Any, text: str) -> None:
    shared.at(name, "manageable")

    answer = shared.call("PUT", f"/v1/nodes/{name}/states/provision", body)

    assert answer.status_code == 400
    assert text in said(answer)


@pytest.mark.parametrize("verb", ["deploy", "active"])
def test_deploy_is_another_word_for_active(shared: Ironic, name: str, verb: str) -> None:
    shared.at(name, "available", driver="fake-hardware")
    assert shared.run(name, verb, "active")["target_provision_state"] is None


@pytest.mark.parametrize(
    ("state", "target"),
    [("clean failed", "available"), ("deploy failed", "active"), ("inspect failed", "manageable"), ("active", None)],
)
def test_a_failed_state_still_has_a_target(shared: Ironic, name: str, state: str, target: str | None) -> None:
    shared.at(name, state)
    assert shared.node(name)["target_provision_state"] == target


def test_inspection_finds_what_the_node_is_made_of(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable")
    assert shared.call("GET", f"/v1/nodes/{name}/inventory").status_code == 404

    shared.ask(name, "inspect")
    node = shared.until(name, "manageable")

    assert (node["properties"]["cpus"], node["properties"]["cpu_arch"]) == (8, "x86_64")
    assert node["inspection_finished_at"] > node["inspection_started_at"]
    inventory = shared.get(f"/v1/nodes/{name}/inventory")["inventory"]
    assert set(inventory) == {"cpu", "memory", "disks", "interfaces", "system_vendor"}


@pytest.mark.parametrize(
    ("state", "verb", "needs", "after"),
    [
        ("inspect wait", "abort", 41, "inspect failed"),
        ("clean wait", "abort", 13, "clean failed"),
        ("clean hold", "abort", 13, "clean failed"),
        ("wait call-back", "abort", 110, "deploy failed"),
        ("deploy hold", "abort", 110, "deploy failed"),
        ("service failed", "abort", 13, "active"),
    ],
)
def test_a_wait_can_be_aborted(shared: Ironic, name: str, state: str, verb: str, needs: int, after: str) -> None:
    shared.at(name, state)

    assert shared.verb(name, verb, version=f"1.{needs - 1}").status_code == 406
    assert shared.verb(name, verb, version=f"1.{needs}").status_code == 202

    node = shared.node(name)
    assert (node["provision_state"], node["maintenance"]) == (after, False)
    if after != "active":
        assert "operation was aborted" in node["last_error"]


def test_deleted_clears_what_the_instance_left(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    shared.put(name, instance_uuid=str(uuid4()), instance_info={"image_source": "x"}, instance_name="i")

    node = shared.run(name, "deleted", "available")

    assert (node["instance_uuid"], node["instance_info"], node["instance_name"]) == (None, {}, None)
    assert node["power_state"] == "power off"


def test_a_retired_node_does_not_become_available_again(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    shared.put(name, retired=True)
    assert shared.run(name, "deleted", "manageable", "available")["provision_state"] == "manageable"


def test_without_automated_cleaning_a_node_is_available_at_once(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {clean: fail}}")
    ironic.at("n1", "active", automated_clean=False)

    ironic.run("n1", "deleted", "available")

    assert ironic.log("step", "n1") == []
    assert "clean wait" not in ironic.states("n1")


@pytest.mark.parametrize("verb", ["deleted", "rebuild"])
def test_a_protected_node_is_403(shared: Ironic, name: str, verb: str) -> None:
    shared.at(name, "active")
    shared.patch(name, add("/protected", True), add("/instance_info/image_source", "x"))

    answer = shared.verb(name, verb)

    assert (answer.status_code, "is protected" in said(answer)) == (403, True)


def test_rebuild_breaks_without_an_image(shared: Ironic, name: str) -> None:
    shared.at(name, "active")

    assert shared.verb(name, "rebuild").status_code == 500
    shared.patch(name, add("/instance_info/image_source", "http://images/x"))
    shared.ask(name, "rebuild")
    shared.until(name, "active")
    assert shared.states(name)[-2:] == ["deploying", "active"]


def test_manual_cleaning_with_a_wrong_step_fails_without_maintenance(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable")

    node = shared.run(name, "clean", "clean failed", clean_steps=[{"interface": "deploy", "step": "wash"}])

    assert "does not support this clean step" in node["last_error"]
    assert (node["maintenance"], node["fault"]) == (False, None)


def test_manual_cleaning_ends_where_it_began(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable")
    steps = [{"interface": "deploy", "step": "erase_devices"}]
    assert shared.run(name, "clean", "manageable", "clean failed", clean_steps=steps)["last_error"] is None


def test_a_service_runs_its_steps_and_ends_where_it_began(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    assert shared.verb(name, "service").status_code == 400
    step = {"interface": "bios", "step": "factory_reset", "args": {}}
    assert shared.verb(name, "service", service_steps=[{**step, "priority": 5}]).status_code == 400

    assert shared.run(name, "service", "active", "service failed", service_steps=[step])["last_error"] is None
    assert shared.states(name)[-2:] == ["servicing", "active"]
    wrong = [{"interface": "deploy", "step": "deploy", "args": {}}]
    node = shared.run(name, "service", "service failed", service_steps=wrong)
    assert "does not support this service step" in node["last_error"]
    assert (node["maintenance"], node["fault"]) == (False, None)


def test_a_step_of_a_service_that_fails_puts_the_node_into_maintenance(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {service: fail, times: 1}}")
    ironic.at("n1", "active")
    step = {"interface": "bios", "step": "factory_reset", "args": {}}

    node = ironic.run("n1", "service", "service failed", service_steps=[step])

    assert (node["maintenance"], node["fault"]) == (True, "service failure")
    assert ironic.run("n1", "service", "active", service_steps=[step])["provision_state"] == "active"


# Locks and transitions


def test_every_change_of_a_locked_node_is_409_after_a_while(start: StartIronic) -> None:
    ironic = start(time_scale=0.05)
    uuid = ironic.create("n1")["uuid"]
    assert ironic.call("POST", "/simulator/nodes/n1/lock?host=elsewhere").status_code == 204

    assert ironic.node("n1")["reservation"] == "elsewhere"
    for method, path, body in (
        ("PATCH", "", [add("/extra/a", 1)]),
        ("DELETE", "", None),
        ("PUT", "/traits", {"traits": []}),
        ("PUT", "/traits/CUSTOM_A", None),
        ("DELETE", "/traits", None),
        ("PUT", "/maintenance", {"reason": "x"}),
        ("PUT", "/states/power", {"target": "power on"}),
        ("PUT", "/states/provision", {"target": "manage"}),
    ):
        began = time.monotonic()
        answer = ironic.call(method, f"/v1/nodes/n1{path}", body)
        assert answer.status_code == 409, (method, path)
        assert said(answer) == (
            f"Node {uuid} is locked by host elsewhere, please retry after the current operation is completed."
        )
        assert time.monotonic() - began >= 0.1  # two nominal seconds
    assert ironic.states("n1") == []


def test_an_impossible_verb_of_a_locked_node_is_409_at_once(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {deploy: never}}", time_scale=1)
    ironic.at("n1", "available", driver="fake-hardware")
    ironic.ask("n1", "active")

    for verb in ("deleted", "abort", "active", "manage"):
        answer = ironic.verb("n1", verb)
        assert (answer.status_code, "is locked by host conductor-1" in said(answer)) == (409, True)
    assert ironic.node("n1")["provision_state"] == "deploying"


def test_a_lock_that_ends_soon_only_delays(start: StartIronic) -> None:
    ironic = start(time_scale=0.1)
    ironic.create("n1")
    ironic.call("POST", "/simulator/nodes/n1/lock?seconds=1.5")

    assert ironic.patch("n1", add("/extra/a", 1)).status_code == 200
    assert ironic.node("n1")["reservation"] is None


def test_a_lock_can_be_let_go(shared: Ironic, name: str) -> None:
    shared.create(name)
    shared.call("POST", f"/simulator/nodes/{name}/lock")
    shared.call("DELETE", f"/simulator/nodes/{name}/lock")
    assert shared.patch(name, add("/extra/a", 1)).status_code == 200


@pytest.mark.parametrize(
    ("state", "status"),
    [
        *((state, 409) for state in ("wait call-back", "clean wait", "clean hold", "deploy hold")),
        *((state, 409) for state in ("deploying", "cleaning", "deleting")),
        *((state, 200) for state in ("inspect wait", "deploy failed", "clean failed", "inspect failed", "error")),
        *((state, 200) for state in ("enroll", "manageable", "available", "active")),
    ],
)
def test_patching_in_a_transition_is_409(shared: Ironic, name: str, state: str, status: int) -> None:
    shared.at(name, state)

    answer = shared.patch(name, add("/extra/a", 1))

    assert answer.status_code == status
    if status == 409:
        assert "can not be updated while a state transition is in progress" in said(answer)


@pytest.mark.parametrize(
    ("state", "reserved"),
    [("cleaning", True), ("deploying", True), ("inspecting", True), ("clean wait", False), ("wait call-back", False)],
)
def test_busy_states_are_locked_and_waiting_ones_are_not(shared: Ironic, name: str, state: str, reserved: bool) -> None:
    shared.at(name, state)
    assert (shared.node(name)["reservation"] is not None) is reserved


# Limits


@pytest.mark.parametrize(
    ("limits", "crowd", "state", "verb", "status"),
    [
        (Limits(deploying=2), ["deploying", "wait call-back"], "available", "active", 503),
        (Limits(deploying=3), ["deploying", "wait call-back"], "available", "active", 202),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "active", "deleted", 503),
        (Limits(cleaning=2), ["deleting", "cleaning"], "active", "deleted", 503),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "manageable", "provide", 202),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "manageable", "inspect", 202),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "available", "active", 202),
        (Limits(workers=1), ["inspecting"], "manageable", "provide", 503),
        (Limits(workers=1), ["inspect wait"], "manageable", "provide", 202),
    ],
)
def test_above_a_limit_a_verb_is_503_and_nothing_has_changed(
    start: StartIronic, limits: Limits, crowd: list[str], state: str, verb: str, status: int
) -> None:
    ironic = start(limits=limits)
    for number, busy in enumerate(crowd):
        ironic.at(f"crowd{number}", busy)
    ironic.at("n1", state)
    before = ironic.node("n1")

    answer = ironic.verb("n1", verb)

    assert answer.status_code == status
    if status == 503:
        assert "limit" in said(answer) or "lack of free conductor workers" in said(answer)
        assert "Retry-After" not in answer.headers
        assert ironic.node("n1") == before


# Deploy steps


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


def test_with_an_agent_a_step_that_nobody_has_fails_the_node(shared: Ironic, name: str) -> None:
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


# Traits, ports, power, history


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "after"),
    [
        ("PUT", "", {"traits": ["CUSTOM_C", "CUSTOM_C"]}, 204, ["CUSTOM_C"]),
        ("PUT", "", {"traits": []}, 204, []),
        ("PUT", "", {"traits": ["CUSTOM_A", "bad"]}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "", {"traits": "CUSTOM_A"}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "", {}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "", {"traits": [f"CUSTOM_{n}" for n in range(51)]}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "/CUSTOM_C", None, 204, ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]),
        ("PUT", "/CUSTOM_A", None, 204, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "/HW_CPU_X86_VMX", None, 204, ["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"]),
        ("PUT", "/custom_c", None, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("DELETE", "/CUSTOM_A", None, 204, ["CUSTOM_B"]),
        ("DELETE", "/CUSTOM_C", None, 404, ["CUSTOM_A", "CUSTOM_B"]),
        ("DELETE", "", None, 204, []),
    ],
)
def test_traits(shared: Ironic, name: str, method: str, path: str, body: Any, status: int, after: list[str]) -> None:
    shared.create(name)
    shared.put(name, traits=["CUSTOM_A", "CUSTOM_B"])

    answer = shared.call(method, f"/v1/nodes/{name}/traits{path}", body)

    assert answer.status_code == status
    assert shared.get(f"/v1/nodes/{name}/traits") == {"traits": after}
    assert shared.node(name)["traits"] == after


@pytest.mark.parametrize(
    ("target", "end"),
    [
        ("power on", "power on"),
        ("power off", "power off"),
        ("rebooting", "power on"),
        ("soft power off", "power off"),
        ("soft rebooting", "power on"),
    ],
)
def test_power(shared: Ironic, name: str, target: str, end: str) -> None:
    shared.create(name)

    answer = shared.call("PUT", f"/v1/nodes/{name}/states/power", {"target": target, "timeout": 30})

    assert (answer.status_code, answer.content) == (202, b"")
    deadline = time.monotonic() + PATIENCE
    while shared.node(name)["target_power_state"]:
        assert time.monotonic() < deadline
    assert shared.node(name)["power_state"] == end


@pytest.mark.parametrize(
    "body", [{"target": "on"}, {}, {"target": "power on", "timeout": 0}, {"target": "power on", "x": 1}]
)
def test_power_that_makes_no_sense(shared: Ironic, name: str, body: Any) -> None:
    shared.create(name)
    assert shared.call("PUT", f"/v1/nodes/{name}/states/power", body).status_code == 400


def test_ports(shared: Ironic, name: str) -> None:
    uuid = shared.create(name)["uuid"]
    mac = f"52:54:{uuid[0:2]}:{uuid[2:4]}:{uuid[4:6]}:{uuid[6:8]}"

    def post(**body: Any) -> int:
        return int(shared.call("POST", "/v1/ports", body).status_code)

    assert post(node_uuid=uuid, address=mac.upper(), pxe_enabled=True) == 201
    assert [post(node_uuid=uuid, address=mac), post(node_uuid=uuid, address="x")] == [409, 400]
    assert [post(node_uuid=str(uuid4()), address="52:54:00:00:00:99"), post(address=mac)] == [400, 400]
    (port,) = shared.get(f"/v1/ports?node={name}")["ports"]
    assert (port["address"], shared.get(f"/v1/ports/{port['uuid']}")["node_uuid"]) == (mac, uuid)
    assert shared.get(f"/v1/ports?address={mac}")["ports"] == [port]
    assert shared.call("DELETE", f"/v1/ports/{port['uuid']}").status_code == 204
    assert shared.get(f"/v1/ports?node={name}")["ports"] == []


def test_the_history_tells_what_happened(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {deploy: fail, reason: no bootable disk}}")
    ironic.at("n1", "manageable")
    ironic.run("n1", "provide", "available")
    ironic.run("n1", "active", "deploy failed")

    history = ironic.get("/v1/nodes/n1/history")["history"]

    assert [each["severity"] for each in history] == ["INFO", "INFO", "INFO", "ERROR"]
    assert "Starting automated cleaning" in history[0]["event"]
    assert "no bootable disk" in history[-1]["event"]


def test_the_service_tells_of_itself(shared: Ironic) -> None:
    assert shared.get("/v1/conductors")["conductors"][0]["alive"] is True
    assert {each["name"] for each in shared.get("/v1/drivers")["drivers"]} == {"fake-hardware", "ipmi", "redfish"}
    assert {"nodes", "ports", "allocations", "deploy_templates"} <= set(shared.get("/v1"))


# Allocations


@pytest.mark.parametrize(
    ("wanted", "state", "text"),
    [
        ({"resource_class": "gpu"}, "active", ""),
        ({"resource_class": "gpu", "traits": ["CUSTOM_A"]}, "active", ""),
        ({"resource_class": "gpu", "candidate_nodes": ["n1"]}, "active", ""),
        ({"resource_class": "cpu"}, "error", "no available nodes match the resource class cpu"),
        (
            {"resource_class": "gpu", "traits": ["CUSTOM_B"]},
            "error",
            "no suitable nodes have the requested traits CUSTOM_B",
        ),
        ({"resource_class": "gpu", "candidate_nodes": ["n2"]}, "error", "no available nodes match"),
    ],
)
def test_allocations(start: StartIronic, wanted: dict[str, Any], state: str, text: str) -> None:
    ironic = start()
    ironic.at("n1", "available", resource_class="gpu")
    ironic.put("n1", traits=["CUSTOM_A"])
    ironic.at("n2", "manageable", resource_class="gpu")

    answer = ironic.call("POST", "/v1/allocations", {"name": "a1", **wanted})

    assert (answer.status_code, answer.json()["state"]) == (201, "allocating")
    deadline = time.monotonic() + PATIENCE
    while (allocation := ironic.get("/v1/allocations/a1"))["state"] == "allocating":
        assert time.monotonic() < deadline
    assert (allocation["state"], text in (allocation["last_error"] or "")) == (state, True)
    claimed = allocation["uuid"] if state == "active" else None
    node = ironic.node("n1")
    assert (node["instance_uuid"], node["allocation_uuid"]) == (claimed, claimed)
    assert ironic.call("POST", "/v1/allocations", {"name": "a1", **wanted}).status_code == 409
    assert ironic.call("POST", "/v1/allocations", {"name": "a2"}).status_code == 400
    assert ironic.call("DELETE", "/v1/allocations/a1").status_code == 204
    assert ironic.node("n1")["instance_uuid"] is None


def test_undeploying_ends_the_allocation(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available", resource_class="gpu")
    ironic.call("POST", "/v1/allocations", {"name": "a1", "resource_class": "gpu"})
    deadline = time.monotonic() + PATIENCE
    while not ironic.node("n1")["allocation_uuid"]:
        assert time.monotonic() < deadline
    ironic.run("n1", "active", "active")

    assert ironic.call("DELETE", "/v1/allocations/a1").status_code == 409
    ironic.run("n1", "deleted", "available")
    assert ironic.call("GET", "/v1/allocations/a1").status_code == 404


# Outcomes


@pytest.mark.parametrize(
    ("outcome", "state", "verb", "after", "text"),
    [
        ("verify: fail", "enroll", "manage", "enroll", "Failed to get power state"),
        ("bmc: fail", "enroll", "manage", "enroll", "Failed to get power state"),
        ("inspect: fail", "manageable", "inspect", "inspect failed", "Failed to inspect hardware. Reason: it broke"),
        ("prepare: fail", "manageable", "inspect", "inspect failed", "it broke"),
        ("prepare: fail", "manageable", "provide", "clean failed", "failed step"),
        ("prepare: both_lists", "manageable", "provide", "clean failed", "failed step"),
        ("clean: fail", "manageable", "provide", "clean failed", "it broke"),
        ("clean: fail", "active", "deleted", "clean failed", "it broke"),
        ("clean: hold", "manageable", "provide", "clean hold", None),
        ("deploy: fail", "available", "active", "deploy failed", "Deploy step deploy."),
        ("deploy: neither_list", "available", "active", "deploy failed", "it broke"),
        ("agent: fail", "available", "active", "deploy failed", "it broke"),
        ("agent: hold", "available", "active", "deploy hold", None),
        ("agent: never", "available", "active", "wait call-back", None),
        ("destroy: fail", "active", "deleted", "error", "Failed to tear down. Error: it broke"),
        ("prepare: fail, times: 1", "inspect failed", "inspect", "inspect failed", "it broke"),
    ],
)
def test_an_outcome_comes_about(
    start: StartIronic, outcome: str, state: str, verb: str, after: str, text: str | None
) -> None:
    ironic = start(f"nodes: {{n1: {{{outcome}, reason: it broke}}}}")
    ironic.at("n1", state)

    ironic.ask("n1", verb)
    deadline = time.monotonic() + PATIENCE
    while after not in ironic.states("n1")[1 if state != "enroll" else 0 :]:
        assert time.monotonic() < deadline, ironic.states("n1")
        time.sleep(0.005)

    node = ironic.node("n1")
    assert node["provision_state"] == after
    if text is not None:
        assert text in node["last_error"]
        assert node["reservation"] is None
    failed_cleaning = after == "clean failed"
    assert (node["maintenance"], node["fault"] == "clean failure") == (failed_cleaning, failed_cleaning)


@pytest.mark.parametrize(
    ("name", "verb", "after"),
    [
        ("n1-fails-prepare", "provide", "clean failed"),
        ("n1-fails-clean", "provide", "clean failed"),
        ("n1-fails-inspect", "inspect", "inspect failed"),
        ("n1-holds-clean", "provide", "clean hold"),
    ],
)
def test_a_name_is_an_outcome_too(shared: Ironic, name: str, verb: str, after: str) -> None:
    shared.at(name, "manageable")
    shared.run(name, verb, after)


@pytest.mark.parametrize(
    ("outcome", "state", "verb", "hangs"),
    [
        ("prepare: never", "manageable", "inspect", "inspect wait"),
        ("prepare: never", "manageable", "provide", "clean wait"),
        ("deploy: never", "available", "active", "deploying"),
        ("destroy: never", "active", "deleted", "deleting"),
        ("verify: never", "enroll", "manage", "verifying"),
    ],
)
def test_a_node_that_hangs(start: StartIronic, outcome: str, state: str, verb: str, hangs: str) -> None:
    ironic = start(f"nodes: {{n1: {{{outcome}}}}}")
    ironic.at("n1", state)

    ironic.run("n1", verb, hangs)
    time.sleep(0.3)

    assert ironic.states("n1")[-1] == hangs


def test_an_outcome_may_be_over_after_so_many_times(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {deploy: fail, times: 1}}")
    ironic.at("n1", "available")

    ironic.run("n1", "active", "deploy failed")
    ironic.run("n1", "active", "active")

    assert ironic.node("n1")["last_error"] is None


def test_a_failed_cleaning_takes_three_requests_to_come_back(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {clean: fail, times: 1}}")
    ironic.at("n1", "manageable")
    ironic.run("n1", "provide", "clean failed")

    ironic.run("n1", "manage", "manageable")
    assert ironic.node("n1")["maintenance"]
    ironic.run("n1", "provide", "available")
    assert ironic.verb("n1", "active").status_code == 400
    ironic.call("DELETE", "/v1/nodes/n1/maintenance")
    assert ironic.node("n1")["fault"] is None
    ironic.run("n1", "active", "active")


def test_what_is_held_goes_on_when_a_person_lets_it(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {clean: hold, agent: hold, times: 1}}")
    ironic.at("n1", "manageable")

    ironic.run("n1", "provide", "clean hold")
    ironic.run("n1", "unhold", "available")
    ironic.run("n1", "active", "deploy hold")
    ironic.run("n1", "unhold", "active")

    assert ironic.steps("n1") == DEFAULTS


def test_a_node_whose_controller_is_lost_is_out_of_service_until_it_is_back(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available")

    ironic.call("POST", "/simulator/scenario", data="nodes: {n1: {bmc: fail, reason: IPMI did not answer}}")
    node = ironic.node("n1")
    assert (node["maintenance"], node["fault"], node["power_state"]) == (True, "power failure", None)
    assert "IPMI did not answer" in node["maintenance_reason"]
    ironic.call("PUT", "/v1/nodes/n1/states/power", {"target": "power on"})
    deadline = time.monotonic() + PATIENCE
    while ironic.node("n1")["power_state"] != "error":
        assert time.monotonic() < deadline

    ironic.call("POST", "/simulator/scenario", data="")
    node = ironic.node("n1")
    assert (node["maintenance"], node["fault"]) == (False, None)


def test_a_controller_that_flaps(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {bmc: flaps, seconds: 5, times: 2}}", time_scale=0.002)
    ironic.at("n1", "available")

    deadline = time.monotonic() + PATIENCE
    while len(faults := [each["fault"] for each in ironic.log("fault", "n1")]) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)

    assert faults[:3] == ["power failure", None, "power failure"]


def test_a_persons_maintenance_is_left_alone(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available")
    ironic.call("PUT", "/v1/nodes/n1/maintenance", {"reason": "mine"})

    ironic.call("POST", "/simulator/scenario", data="nodes: {n1: {bmc: fail}}")
    time.sleep(0.05)
    ironic.call("POST", "/simulator/scenario", data="")

    node = ironic.node("n1")
    assert (node["maintenance"], node["maintenance_reason"], node["fault"]) == (True, "mine", None)


# The service misbehaves


@pytest.mark.parametrize(
    ("status", "text"), [(409, "Node n1 is locked by host"), (503, "lack of free conductor workers"), (500, "database")]
)
def test_a_fault_of_the_service_speaks_as_ironic_does(start: StartIronic, status: int, text: str) -> None:
    ironic = start(f"service: [{{method: PATCH, path: '/nodes/*', status: {status}, first: 1}}]")
    ironic.create("n1")

    answer = ironic.patch("n1", add("/extra/a", 1))

    assert (answer.status_code, text in said(answer)) == (status, True)
    assert ironic.node("n1")["extra"] == {}
    assert ironic.patch("n1", add("/extra/a", 1)).status_code == 200


@pytest.mark.parametrize(("action", "effect"), [("drop", False), ("drop_after_effect", True)])
def test_a_connection_is_cut(start: StartIronic, action: str, effect: bool) -> None:
    ironic = start(f"service: [{{method: PUT, path: '/nodes/*/states/provision', action: {action}, first: 1}}]")
    ironic.create("n1")

    with pytest.raises(requests.ConnectionError):
        ironic.verb("n1", "manage")

    time.sleep(0.02)
    assert ("manageable" in ironic.states("n1")) is effect
    assert ironic.get("/simulator/requests")[-1]["fault"] == action


def test_faults_can_be_played_while_it_runs(start: StartIronic) -> None:
    ironic = start()
    answer = ironic.call("POST", "/simulator/faults", [{"path": "/nodes", "status": 503}])
    assert answer.json() == {"count": 1}
    assert ironic.call("GET", "/v1/nodes").status_code == 503
    ironic.call("DELETE", "/simulator/faults")
    assert ironic.call("GET", "/v1/nodes").status_code == 200
    assert ironic.call("POST", "/simulator/faults", [{"color": 1}]).status_code == 400


# Restarts


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("deploying", "deploy failed"),
        ("deleting", "error"),
        ("inspecting", "inspect failed"),
        ("cleaning", "clean failed"),
        ("verifying", "enroll"),
        ("wait call-back", "wait call-back"),
        ("clean wait", "clean wait"),
        ("active", "active"),
    ],
)
def test_a_conductor_that_dies_in_the_middle(shared: Ironic, name: str, state: str, after: str) -> None:
    shared.at(name, state)

    failed = shared.call("POST", "/simulator/restart").json()["failed"]

    node = shared.node(name)
    assert (node["provision_state"], node["reservation"], node["maintenance"]) == (after, None, False)
    assert (name in failed) is (state != after)
    if state != after:
        text = f"The {state} state can't be resumed by conductor conductor-1. Moving to fail state."
        assert node["last_error"] == text
        assert shared.log("node_state", name)[-1]["cause"] == "restart"


def test_what_waits_for_its_agent_goes_on_after_a_restart(start: StartIronic) -> None:
    ironic = start("durations: {deploy_nodes: 1000}")
    ironic.at("n1", "available")
    ironic.run("n1", "active", "wait call-back")

    assert ironic.simulator.restart() == []

    ironic.until("n1", "active")
    assert ironic.steps("n1") == DEFAULTS


def test_nodes_are_kept_in_a_file(start: StartIronic, tmp_path: Path) -> None:
    kept = tmp_path / "nodes.json"
    with running(
        parse_scenario("nodes: {n1: {deploy: never}, n2: {agent: never}}"), time_scale=0.001, state_file=kept
    ) as one:
        ironic = Ironic(one)
        for node in ("n1", "n2"):
            ironic.at(node, "available")
        ironic.at("n3", "active")
        ironic.patch("n3", add("/extra/a", 1))
        ironic.run("n1", "active", "deploying")
        ironic.run("n2", "active", "wait call-back", deploy_steps=[step("bios.factory_reset", 150)])

    again = start(state_file=kept, site=[SiteNode("not-read")])

    assert [node["name"] for node in again.get("/v1/nodes")["nodes"]] == ["n1", "n2", "n3"]
    assert again.node("n1")["provision_state"] == "deploy failed"
    assert again.node("n3")["extra"] == {"a": 1}
    again.until("n2", "active")
    assert again.steps("n2") == DEFAULTS[1:]
    again.create("n4")


# The log


def test_the_log_alone_tells_every_change_of_state(start: StartIronic) -> None:
    ironic = start()
    for number in range(4):
        ironic.create(f"n{number}")
    for verb, state in (
        ("manage", "manageable"),
        ("provide", "available"),
        ("active", "active"),
        ("deleted", "available"),
    ):
        for number in range(4):
            ironic.ask(f"n{number}", verb)
        for number in range(4):
            ironic.until(f"n{number}", state)

    for number in range(4):
        changes = ironic.log("node_state", f"n{number}")
        assert all(one["state"] == next_one["before"] for one, next_one in pairwise(changes))
        assert all(one["time"] <= next_one["time"] for one, next_one in pairwise(changes))
        assert [each["verb"] for each in ironic.log("verb", f"n{number}")] == ["manage", "provide", "active", "deleted"]
        assert sum(each["cause"] == "active" for each in changes) == 1
    requests_seen = ironic.get("/simulator/requests")
    assert {"method", "path", "status", "version"} <= set(requests_seen[0])
    assert not any(each["path"].startswith("/simulator") for each in requests_seen)


def test_a_node_cannot_be_given_what_is_no_field(shared: Ironic, name: str) -> None:
    shared.create(name)
    assert shared.call("PUT", f"/simulator/nodes/{name}", {"color": "red"}).status_code == 400
    assert shared.call("PUT", f"/simulator/nodes/{name}", [1]).status_code == 400


# A site


def test_a_site_is_enrolled_with_its_selectors(start: StartIronic) -> None:
    ironic = start("machines: {mon01: Deployed, ntp01: Allocated}", site=read_site(FIVE_GROUPS), site_state="available")

    fields = "uuid,name,provision_state,traits,extra,instance_uuid"
    nodes = {node["name"]: node for node in ironic.get(f"/v1/nodes?fields={fields}")["nodes"]}

    assert len(nodes) == 16
    compute = next(node for node in nodes.values() if node["name"].startswith("cmp01"))
    assert (compute["extra"]["rack"], "compute" in compute["extra"]["tags"]) == ("rack01", True)
    assert "CUSTOM_TAG_COMPUTE" in compute["traits"]
    assert (nodes["mon01"]["provision_state"], nodes["ntp01"]["provision_state"]) == ("active", "available")
    assert nodes["ntp01"]["instance_uuid"] is not None
    assert compute["instance_uuid"] is None


def test_a_site_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "site.yaml"
    broken.write_text("a: [")
    with pytest.raises(SiteUnreadable):
        read_site(broken)


# The program


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never written"
        time.sleep(0.01)


def test_the_program_serves_until_it_is_told_to_stop_and_starts_again_where_it_was(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    program = [sys.executable, "-m", "shipyard_simulators.ironic", "--port", "0", "--time-scale", "0.001"]
    options = ["--site", str(FIVE_GROUPS), "--auth", "basic", "--state", str(kept), "--log-file", str(tmp_path / "log")]
    environ = {**os.environ, "SIMULATOR_BASIC_PASSWORD": "right"}
    for number, expected in enumerate(("enroll", "manageable")):
        ready = tmp_path / f"ready{number}"
        process = subprocess.Popen([*program, *options, "--ready-file", str(ready)], env=environ, cwd=ROOT)
        try:
            wait_for_file(ready)
            url = f"{json.loads(ready.read_text())['url']}/v1/nodes/ntp01"
            more: dict[str, Any] = {"headers": {VERSION: LATEST}, "auth": ("admin", "right"), "timeout": PATIENCE}
            assert requests.get(url, **more).json()["provision_state"] == expected
            if not number:
                requests.put(f"{url}/states/provision", json={"target": "manage"}, **more).raise_for_status()
                while requests.get(url, **more).json()["provision_state"] != "manageable":
                    time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--auth", "basic"], "--auth basic: needs --basic-password"),
        (["--highest-version", "200"], "--highest-version: 200 is not between 1 and 115"),
        (["--site", "nowhere.yaml"], "--site: nowhere.yaml cannot be read"),
        (["--workers", "-1"], "--workers: -1 is below 0"),
        (["--state", "/nowhere/at/all"], "--state: there is no directory /nowhere/at"),
    ],
)
def test_the_program_names_what_is_wrong_with_its_options(options: list[str], text: str) -> None:
    code, lines = refusal("ironic", "--port", "0", *options)
    assert (code, text in "".join(lines)) == (2, True), lines


# A client that somebody else wrote


@pytest.mark.filterwarnings("ignore")  # the client warns of its own changes, which are not ours
def test_a_foreign_client_takes_a_node_through_its_life(start: StartIronic) -> None:
    openstack = pytest.importorskip("openstack", reason="openstacksdk is not installed; it is not needed otherwise")
    ironic = start()
    baremetal = openstack.connect(
        auth_type="none", endpoint=ironic.url, baremetal_endpoint_override=ironic.url
    ).baremetal
    node = baremetal.create_node(driver="redfish", name="n1", resource_class="small")
    assert node.provision_state == "enroll"

    for verb, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
        node = baremetal.set_node_provision_state(node, verb, wait=True, timeout=PATIENCE)
        assert node.provision_state == state
    baremetal.add_node_trait(node, "CUSTOM_A")
    baremetal.create_deploy_template(name="CUSTOM_A", steps=[step("bios.factory_reset", 150)])
    node = baremetal.get_node("n1")  # otherwise it takes the trait for a change of its own
    node = baremetal.update_node(node, instance_info={"traits": ["CUSTOM_A"]}, instance_id=str(uuid4()))
    node = baremetal.set_node_provision_state(
        node, "active", deploy_steps=[step("raid.delete_configuration", 140)], wait=True, timeout=PATIENCE
    )
    assert (node.provision_state, node.power_state) == ("active", "power on")
    assert ironic.steps("n1") == ["bios.factory_reset", "raid.delete_configuration", *DEFAULTS]
    assert baremetal.validate_node(node)["deploy"].result is True
    node = baremetal.set_node_provision_state(node, "deleted", wait=True, timeout=PATIENCE)
    assert (node.provision_state, node.instance_id) == ("available", None)
    baremetal.set_node_power_state(node, "power on", wait=True, timeout=PATIENCE)
    baremetal.set_node_maintenance(node, reason="tired")
    assert [each.name for each in baremetal.nodes(is_maintenance=True)] == ["n1"]
    baremetal.delete_node(node)
    assert list(baremetal.nodes()) == []
