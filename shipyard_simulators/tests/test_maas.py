"""The MAAS simulator against the contract it speaks: plain HTTP, no adapter of ours between."""

import base64
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
import requests

from shipyard_simulators.maas.accounts import ApiUser
from shipyard_simulators.maas.simulator import running
from shipyard_simulators.maas.site import SiteInvalid, parse_site, read_machines, read_site
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, refusal

ROOT = Path(__file__).parents[2]
FIVE_GROUPS = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
PATIENCE = 15.0  # seconds; nothing takes that long, it only ends a test that would hang
API = "/MAAS/api/2.0/"
ADMIN, OTHER_ADMIN, USER = "ck1:tk1:ts1", "ck2:tk2:ts2", "ck3:tk3:ts3"
ACCOUNTS = (
    ApiUser("shipyard", ADMIN),
    ApiUser("root", OTHER_ADMIN),
    ApiUser("user", USER, administrator=False),
)
STATUSES = {
    "New": 0,
    "Commissioning": 1,
    "Failed commissioning": 2,
    "Missing": 3,
    "Ready": 4,
    "Reserved": 5,
    "Deployed": 6,
    "Retired": 7,
    "Broken": 8,
    "Deploying": 9,
    "Allocated": 10,
    "Failed deployment": 11,
    "Releasing": 12,
    "Releasing failed": 13,
    "Disk erasing": 14,
    "Failed disk erasing": 15,
    "Rescue mode": 16,
    "Entering rescue mode": 17,
    "Failed to enter rescue mode": 18,
    "Exiting rescue mode": 19,
    "Failed to exit rescue mode": 20,
    "Testing": 21,
    "Failed testing": 22,
}
RELEASABLE = {
    "Allocated",
    "Reserved",
    "Broken",
    "Deploying",
    "Deployed",
    "Failed deployment",
    "Failed disk erasing",
    "Releasing failed",
}
PROGRAM = (sys.executable, "-m", "shipyard_simulators.maas")
_nonces = itertools.count(1)


def signature(key: str = ADMIN, **changes: str | None) -> str:
    consumer, token, secret = key.split(":")
    values = {
        "oauth_version": "1.0",
        "oauth_signature_method": "PLAINTEXT",
        "oauth_consumer_key": consumer,
        "oauth_token": token,
        "oauth_signature": f"%26{secret}",
        "oauth_timestamp": str(int(time.time())),
        "oauth_nonce": f"{os.getpid()}-{next(_nonces)}",
    }
    pairs = {**values, **{f"oauth_{name}": value for name, value in changes.items()}}
    return ", ".join(['OAuth realm="OAuth"', *(f'{name}="{value}"' for name, value in pairs.items() if value)])


class Maas:
    """A client of a running simulator that knows nothing but paths."""

    def __init__(self, url: str, key: str = ADMIN) -> None:
        self.url, self.key = url, key

    def by(self, key: str) -> "Maas":
        return Maas(self.url, key)

    def call(self, method: str, path: str, *, signed: bool = True, **options: Any) -> requests.Response:
        url = f"{self.url}{path}" if path.startswith("/") else f"{self.url}{API}{path}"
        headers = options.pop("headers", {})
        if signed:
            headers = {"Authorization": signature(self.key), **headers}
        return HTTP.request(method, url, headers=headers, timeout=PATIENCE, **options)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **form: Any) -> requests.Response:
        return self.call("POST", path, data=form or {"comment": "test"})

    def id_of(self, hostname: str) -> str:
        (machine,) = self.get(f"machines/?hostname={hostname}")
        return str(machine["system_id"])

    def one(self, hostname: str) -> Any:
        return self.get(f"machines/?hostname={hostname}")[0]

    def do(self, hostname: str, operation: str, **form: Any) -> requests.Response:
        return self.post(f"machines/{self.id_of(hostname)}/?op={operation}", **form)

    def ask(self, hostname: str, operation: str) -> Any:
        return self.get(f"machines/{self.id_of(hostname)}/?op={operation}")

    def watch(self, hostname: str, label: str) -> Any:
        """Return the machine once it has the label."""
        deadline = time.monotonic() + PATIENCE
        while (machine := self.one(hostname))["status_name"] != label:
            assert time.monotonic() < deadline, f"never {label}, but {machine['status_name']}"
            time.sleep(0.005)
        return machine

    def control(self, method: str, path: str, **options: Any) -> Any:
        answer = HTTP.request(method, f"{self.url}/simulator/{path}", timeout=PATIENCE, **options)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def put(self, **machine: Any) -> str:
        """Put a machine there, or change it, and return its id."""
        shown = self.control("POST", "machines", data=json.dumps([machine]))
        return next(str(each["system_id"]) for each in reversed(shown) if each["machine"] == machine["hostname"])

    def path_of(self, hostname: str) -> list[str | None]:
        """Return the statuses that the machine has gone through."""
        (machine,) = [each for each in self.control("GET", "machines") if each["machine"] == hostname]
        return [each["to"] for each in machine["changes"] if each["kind"] == "status"]

    def faults(self, *faults: dict[str, Any]) -> None:
        self.control("POST", "faults", data=json.dumps(faults))


StartMaas = Callable[..., Maas]


@pytest.fixture
def start() -> Iterator[StartMaas]:
    """What starts a MAAS with machines in the given statuses, playing the given scenario fast."""

    def start_maas(scenario: str = "", *, time_scale: float = 0.001, **options: Any) -> Maas:
        options.setdefault("accounts", ACCOUNTS)
        machines = read_machines(options.pop("machines", []))
        simulator = cleanup.enter_context(
            running(parse_scenario(scenario), machines=machines, time_scale=time_scale, **options)
        )
        return Maas(simulator.url)

    with ExitStack() as cleanup:
        yield start_maas


@pytest.fixture(scope="module")
def maas() -> Iterator[Maas]:
    """One MAAS for all tests that bring their own machines and look at nothing else."""
    with running(parse_scenario(""), accounts=ACCOUNTS, time_scale=1000) as simulator:
        yield Maas(simulator.url)


_names = itertools.count(1)


def fresh(maas: Maas, status: str = "Ready", **values: Any) -> str:
    """Put a machine of its own name there."""
    name = f"fresh-{next(_names)}"
    maas.put(hostname=name, status=status, **values)
    return name


# Section 1: requests


def test_the_version_is_open_to_all(maas: Maas) -> None:
    answer = maas.call("GET", "version/", signed=False)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json()["version"] == "3.5.4"
    assert {"networks-management", "authenticate-api"} <= set(answer.json()["capabilities"])


@pytest.mark.parametrize("path", ["version/", "machines/", "users/?op=whoami", "nowhere/", "machines/nobody/"])
def test_every_answer_has_the_hash_of_the_api(maas: Maas, path: str) -> None:
    assert maas.call("GET", path).headers["X-MAAS-API-Hash"]


def test_a_path_without_its_slash_is_sent_to_the_one_with_it(maas: Maas) -> None:
    answer = maas.call("GET", "machines?hostname=n1", allow_redirects=False)
    assert answer.status_code == 301
    assert answer.headers["Location"].endswith("/MAAS/api/2.0/machines/?hostname=n1")


def test_a_post_without_the_slash_has_no_effect(maas: Maas) -> None:
    answer = maas.call("POST", "machines?op=allocate", data={"comment": "x"}, allow_redirects=False)
    assert answer.status_code == 301


def test_an_unknown_path_is_plain_text(maas: Maas) -> None:
    answer = maas.call("GET", "nowhere/")
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (404, "text/plain")


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("POST", "machines/?op=fly", "Unrecognised signature: method=POST op=fly"),
        ("GET", "machines/?op=allocate", "Unrecognised signature: method=GET op=allocate"),
        ("POST", "users/?op=whoami", "Unrecognised signature: method=POST op=whoami"),
        ("GET", "events/", "Unrecognised signature: method=GET op=None"),
        ("DELETE", "machines/", "Unrecognised signature: method=DELETE op=None"),
        ("GET", "account/?op=whoami", "Unrecognised signature: method=GET op=whoami"),
        ("PUT", "tags/", "Unrecognised signature: method=PUT op=None"),
    ],
)
def test_a_wrong_pair_of_method_and_operation_is_refused(maas: Maas, method: str, path: str, text: str) -> None:
    answer = maas.call(method, path, data={"comment": "x"} if method in ("POST", "PUT") else None)
    assert (answer.status_code, answer.text) == (400, text)


FORMS: dict[str, dict[str, Any]] = {
    "url-encoded": {"data": {"comment": "why", "agent_name": "ours"}},
    "multipart": {"files": {"comment": (None, "why"), "agent_name": (None, "ours")}},
    "multipart in base64": {
        "headers": {"Content-Type": "multipart/form-data; boundary=XX"},
        "data": "".join(
            f'--XX\r\nContent-Disposition: form-data; name="{name}"\r\nContent-Type: text/plain; charset="utf-8"\r\n'
            f"Content-Transfer-Encoding: base64\r\n\r\n{base64.b64encode(value.encode()).decode()}\r\n"
            for name, value in (("comment", "why"), ("agent_name", "ours"))
        )
        + "--XX--\r\n",
    },
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_every_kind_are_read(maas: Maas, form: dict[str, Any]) -> None:
    name = fresh(maas)
    answer = maas.call("POST", f"machines/{maas.id_of(name)}/?op=deploy", **form)
    assert answer.status_code == 200, answer.text
    assert answer.json()["agent_name"] == "ours"
    assert answer.json()["status_message"] == "Deploying - why"


def test_a_json_body_is_silently_ignored(maas: Maas) -> None:
    name = fresh(maas)
    answer = maas.call("POST", f"machines/{maas.id_of(name)}/?op=deploy", json={"distro_series": "nonsense"})
    assert answer.status_code == 200
    assert answer.json()["distro_series"] == "jammy"


def test_a_post_without_any_form_breaks_the_server(maas: Maas) -> None:
    name = fresh(maas)
    answer = maas.call("POST", f"machines/{maas.id_of(name)}/?op=commission")
    assert answer.status_code == 500
    assert maas.one(name)["status_name"] == "Ready"


def test_the_operation_may_also_be_in_the_form(maas: Maas) -> None:
    name = fresh(maas)
    answer = maas.call("POST", f"machines/{maas.id_of(name)}/", data={"op": "deploy"})
    assert answer.json()["status_name"] == "Deploying"


# Section 2: who may come in


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        pytest.param({}, 200, "", id="good"),
        pytest.param({"version": None}, 200, "", id="without a version"),
        pytest.param({"consumer_key": "other"}, 401, "Authorization Error: Invalid API key.", id="consumer key"),
        pytest.param({"token": "other"}, 401, "Authorization Error: Invalid API key.", id="token"),
        pytest.param({"signature": "%26wrong"}, 401, "Invalid signature", id="secret"),
        pytest.param({"signature": "ts1"}, 401, "Invalid signature", id="no ampersand"),
        pytest.param({"signature": "cs%26ts1"}, 401, "Invalid signature", id="a consumer secret"),
        pytest.param({"signature": "%2526ts1"}, 401, "Invalid signature", id="encoded twice"),
        pytest.param({"signature_method": "HMAC-SHA1"}, 400, "HMAC-SHA1", id="method"),
        pytest.param({"version": "2.0"}, 400, "version", id="version"),
        pytest.param({"timestamp": str(int(time.time()) - 400)}, 401, "Expired timestamp", id="old"),
        pytest.param({"timestamp": "now"}, 400, "int()", id="no number"),
        pytest.param({"nonce": None}, 401, "oauth_nonce", id="no nonce"),
        pytest.param({"timestamp": None}, 401, "oauth_timestamp", id="no timestamp"),
        pytest.param({"signature": None}, 401, "oauth_signature", id="no signature"),
        pytest.param({"token": None}, 401, "oauth_token", id="no token"),
    ],
)
def test_the_oauth_header_is_checked(maas: Maas, changes: dict[str, str | None], status: int, text: str) -> None:
    header = {"Authorization": signature(**changes)}
    answer = maas.call("GET", "users/?op=whoami", signed=False, headers=header)
    assert answer.status_code == status
    assert text in answer.text


@pytest.mark.parametrize("header", [{}, {"Authorization": "Basic abc"}, {"Authorization": "OAuth nonsense"}])
def test_other_headers_let_nobody_in(maas: Maas, header: dict[str, str]) -> None:
    answer = maas.call("GET", "machines/", signed=False, headers=header)
    assert answer.status_code == 401
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.headers["WWW-Authenticate"] == 'OAuth realm="API"'


def test_a_nonce_is_good_once(maas: Maas) -> None:
    header = {"Authorization": signature()}
    assert maas.call("GET", "users/?op=whoami", signed=False, headers=header).status_code == 200
    answer = maas.call("GET", "users/?op=whoami", signed=False, headers=header)
    assert (answer.status_code, "Nonce already used" in answer.text) == (401, True)


@pytest.mark.parametrize(("key", "name", "admin"), [(ADMIN, "shipyard", True), (USER, "user", False)])
def test_a_key_stands_for_its_user(maas: Maas, key: str, name: str, admin: bool) -> None:
    answered = maas.by(key).get("users/?op=whoami")
    assert (answered["username"], answered["is_superuser"]) == (name, admin)
    assert maas.by(key).get("account/?op=list_authorisation_tokens") == [{"name": "MAAS consumer", "token": key}]


def test_without_accounts_any_key_is_good_but_still_signed(start: StartMaas) -> None:
    maas = start(accounts=())
    assert maas.by("any:key:there").get("users/?op=whoami")["username"] == "shipyard"
    assert maas.call("GET", "machines/", signed=False).status_code == 401
    unsigned = {"Authorization": signature(signature="%26")}
    assert maas.call("GET", "machines/", signed=False, headers=unsigned).status_code == 401


def by_admin_only() -> list[tuple[str, str, dict[str, str]]]:
    return [
        ("POST", "machines/{id}/?op=commission", {}),
        ("POST", "machines/{id}/?op=test", {}),
        ("POST", "machines/{id}/?op=mark_fixed", {}),
        ("POST", "machines/{id}/?op=override_failed_testing", {}),
        ("POST", "machines/{id}/?op=restore_networking_configuration", {}),
        ("PUT", "machines/{id}/", {"hostname": "other"}),
        ("DELETE", "machines/{id}/", {}),
        ("GET", "machines/{id}/?op=power_parameters", {}),
        ("GET", "machines/?op=power_parameters", {}),
        ("POST", "machines/?op=accept", {"machines": "{id}"}),
        ("POST", "machines/?op=accept_all", {}),
        ("POST", "tags/", {"name": "t"}),
        ("POST", "resourcepools/", {"name": "p"}),
        ("POST", "zones/", {"name": "z"}),
        ("GET", "maas/?op=get_config&name=maas_name", {}),
        ("GET", "rackcontrollers/?op=power_parameters", {}),
    ]


@pytest.mark.parametrize(("method", "path", "form"), by_admin_only(), ids=lambda each: str(each))
def test_what_only_administrators_may_do(maas: Maas, method: str, path: str, form: dict[str, str]) -> None:
    path = path.replace("{id}", maas.id_of(fresh(maas)))
    body = None if method == "GET" else form or {"comment": "x"}
    answer = maas.by(USER).call(method, path, data=body)
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (403, "text/plain")


@pytest.mark.parametrize("operation", ["deploy", "release", "abort", "mark_broken", "power_on", "power_off", "lock"])
def test_a_machine_of_another_is_forbidden_to_a_user(maas: Maas, operation: str) -> None:
    system_id = maas.id_of(fresh(maas, "Deployed", owner="root"))
    assert maas.by(USER).post(f"machines/{system_id}/?op={operation}").status_code == 403
    assert maas.by(USER).call("GET", f"machines/{system_id}/").status_code == 403


def test_a_user_does_not_see_the_machines_of_others(maas: Maas) -> None:
    theirs, free, mine = fresh(maas, "Deployed"), fresh(maas), fresh(maas, "Allocated", owner="user")
    seen = {each["hostname"] for each in maas.by(USER).get("machines/")}
    assert {theirs, free, mine} & seen == {free, mine}


def test_a_user_may_allocate_deploy_and_release(start: StartMaas) -> None:
    maas = start("machines: {n1: Ready}").by(USER)
    assert maas.do("n1", "deploy").json()["owner"] == "user"
    maas.watch("n1", "Deployed")
    assert maas.do("n1", "release").status_code == 200
    assert maas.watch("n1", "Ready")["owner"] is None


# Sections 3 and 4: errors, statuses, transitions


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
    answer = maas.post(f"machines/nobody/?op={operation}")
    assert (answer.status_code, answer.text) == (404, "No Machine matches the given query.")


# Section 5: the machine


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


# Section 6: listing


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
    with running(machines=read_machines(machines), accounts=ACCOUNTS, time_scale=1000) as simulator:
        yield Maas(simulator.url)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "a1 a2 a3 a4 a5 a6"),
        ("hostname=a1", "a1"),
        ("hostname=a3&hostname=a1", "a1 a3"),
        ("hostname=a5.site", "a5"),
        ("hostname=A1", ""),
        ("hostname=nobody", ""),
        ("id=nobody", ""),
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


def test_the_power_parameters_of_all_or_some(listed: Maas) -> None:
    every = listed.get("machines/?op=power_parameters")
    assert len(every) == 6
    system_id = listed.id_of("a1")
    assert listed.get(f"machines/?op=power_parameters&id={system_id}") == {system_id: every[system_id]}
    assert listed.ask("a1", "power_parameters")["power_address"].startswith("10.1.")


def test_the_allocated_machines_are_the_callers(listed: Maas) -> None:
    assert [each["hostname"] for each in listed.get("machines/?op=list_allocated")] == ["a4"]
    assert listed.by(OTHER_ADMIN).get("machines/?op=list_allocated") == []


# Section 7: operations


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
def test_whatever_is_commissioned_gets_ready(start: StartMaas, label: str) -> None:
    maas = start(f"machines: {{n1: {label}}}")
    assert maas.do("n1", "commission").status_code == 200
    wait_for(lambda: maas.path_of("n1") == [label, "Commissioning", "Testing", "Ready"])


def test_testing_can_be_left_out(start: StartMaas) -> None:
    maas = start("machines: {n1: New}")
    maas.do("n1", "commission", testing_scripts="none", enable_ssh="1")
    assert maas.watch("n1", "Ready")["power_state"] == "on"
    assert maas.path_of("n1") == ["New", "Commissioning", "Ready"]


def test_a_commissioning_machine_belongs_to_who_began_it(maas: Maas) -> None:
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
    maas = start("{machines: {n1: Deployed, n2: Deployed}, region: {erase_on_release: true}}", time_scale=1000)
    assert maas.get("maas/?op=get_config&name=enable_disk_erasing_on_release") is True
    assert maas.do("n1", "release", erase="false").json()["status_name"] == "Disk erasing"
    maas.post("maas/?op=set_config", name="enable_disk_erasing_on_release", value="false")
    assert maas.do("n2", "release").json()["status_name"] == "Releasing"


def test_unknown_settings_are_refused(maas: Maas) -> None:
    assert maas.call("GET", "maas/?op=get_config&name=colour").status_code == 400


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
        ({"name": "nobody"}, None),
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
    maas = start(time_scale=1000)
    form = {**NEW_MACHINE, "mac_addresses": ["52:54:00:00:01:01", "52:54:00:00:01:02"], **fields}
    answer = maas.post("machines/", **form, power_parameters_power_address="10.9.9.9")
    assert (answer.status_code, answer.json()["status_name"]) == (200, label), answer.text
    assert len(answer.json()["interface_set"]) == 2
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
    maas = start(time_scale=1000)
    answer = maas.by(USER).post("machines/", architecture="amd64/generic", mac_addresses="52:54:00:00:03:01")
    assert "-" in answer.json()["hostname"]
    assert answer.json()["status_name"] == "New"


def test_machines_are_accepted(start: StartMaas) -> None:
    maas = start("machines: {n1: New, n2: New, n3: Ready}", time_scale=1000)
    ids = {name: maas.id_of(name) for name in ("n1", "n2", "n3")}
    assert maas.post("machines/?op=accept", machines=[ids["n1"], ids["n3"]]).status_code == 409
    assert maas.post("machines/?op=accept", machines="nobody").status_code == 400
    assert [each["hostname"] for each in maas.post("machines/?op=accept", machines=ids["n1"]).json()] == ["n1"]
    assert [each["hostname"] for each in maas.post("machines/?op=accept_all").json()] == ["n2"]


def test_several_machines_are_released_all_or_none(start: StartMaas) -> None:
    maas = start("machines: {n1: Allocated, n2: Allocated, n3: Testing, n4: Ready}", time_scale=1000)
    ids = {name: maas.id_of(name) for name in ("n1", "n2", "n3", "n4")}
    assert maas.post("machines/?op=release", machines=[ids["n1"], ids["n3"]]).status_code == 409
    assert maas.one("n1")["status_name"] == "Allocated"
    done = maas.post("machines/?op=release", machines=[ids["n1"], ids["n2"], ids["n4"]])
    assert done.json() == [ids["n1"], ids["n2"]]
    assert maas.one("n2")["status_name"] == "Ready"


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


def test_a_broken_machine_belongs_to_nobody_and_is_fixed(maas: Maas) -> None:
    name = fresh(maas, "Allocated")
    broken = maas.do(name, "mark_broken", comment="smells of smoke").json()
    assert (broken["status"], broken["owner"], broken["error_description"]) == (8, None, "smells of smoke")
    fixed = maas.do(name, "mark_fixed").json()
    assert (fixed["status"], fixed["error_description"]) == (4, "")


def test_only_its_owner_breaks_a_machine(maas: Maas) -> None:
    assert maas.do(fresh(maas, "Allocated", owner="root"), "mark_broken").status_code == 403
    assert maas.do(fresh(maas, "Ready"), "mark_broken").status_code == 200


def test_power_on_and_off(start: StartMaas) -> None:
    maas = start("machines: {n1: Allocated}")
    assert maas.do("n1", "power_on").status_code == 200
    wait_for(lambda: maas.one("n1")["power_state"] == "on")
    assert maas.ask("n1", "query_power_state") == {"state": "on"}
    assert maas.do("n1", "power_off", stop_mode="soft").status_code == 200
    wait_for(lambda: maas.ask("n1", "query_power_state") == {"state": "off"})


def test_what_cannot_be_switched_off_answers_null(maas: Maas) -> None:
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


# Section 8: tags, pools, zones


def test_the_life_of_a_tag(maas: Maas) -> None:
    name = fresh(maas)
    system_id = maas.id_of(name)
    made = maas.post("tags/", name="gold", comment="dear", kernel_opts="quiet")
    assert (made.json()["comment"], made.json()["kernel_opts"]) == ("dear", "quiet")
    assert "gold" in [tag["name"] for tag in maas.get("tags/")]
    update = maas.post("tags/gold/?op=update_nodes", add=[system_id, "nobody"])
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


# Section 9: events and results


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


def test_an_event_tells_what_and_whose(start: StartMaas) -> None:
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
    wait_for(lambda: maas.one("n1")["power_state"] == "on")
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


# Section 12 and the outcomes of machines


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
        wait_for(lambda: maas.one("n1")["power_state"] == "error")
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
    maas = start("machines: {n1-never-erase: Deployed}", time_scale=0.00001)
    maas.do("n1-never-erase", "release", erase="true")
    time.sleep(0.2)
    assert maas.one("n1-never-erase")["status_name"] == "Disk erasing"
    assert maas.do("n1-never-erase", "abort").json()["status"] == 15


def test_a_full_erase_takes_much_longer_than_a_quick_one(start: StartMaas) -> None:
    maas = start("machines: {n1: Deployed, n2: Deployed}", time_scale=0.01)
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
def test_what_a_machine_is_in_the_middle_of_ends_too(start: StartMaas, label: str, end: str) -> None:
    maas = start(f"machines: {{n1: {label}}}")
    maas.watch("n1", end)
    assert maas.path_of("n1")[0] == label


def test_an_outcome_may_strike_only_so_often(start: StartMaas) -> None:
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
    maas = start("machines: {n1-never-bmc: Deployed}", time_scale=0.01)
    begun = time.monotonic()
    assert maas.ask("n1-never-bmc", "query_power_state") == {"state": "error"}
    assert time.monotonic() - begun >= 0.6


def test_more_deployments_than_there_is_room_for_fail(start: StartMaas) -> None:
    maas = start("{machines: {n1: Ready, n2: Ready, n3: Ready}, region: {deployments_at_once: 2}}", time_scale=0.01)
    for name in ("n1", "n2", "n3"):
        maas.do(name, "deploy")
    assert "too many at once" in maas.watch("n3", "Failed deployment")["status_message"]
    maas.watch("n1", "Deployed")
    maas.watch("n2", "Deployed")


# Section 3: the service's own misbehaviour


@pytest.mark.parametrize(
    ("fault", "status", "retry_after", "effect"),
    [
        ({"status": 409}, 409, "5", False),
        ({"status": 503}, 503, "10", False),
        ({"status": 500}, 500, None, False),
        ({"status": 504, "action": "error_after_effect"}, 504, None, True),
        ({"status": 500, "action": "error_after_effect"}, 500, None, True),
        ({"action": "drop"}, None, None, False),
        ({"action": "drop_after_effect"}, None, None, True),
        ({"action": "delay", "seconds": 200}, 200, None, True),
        ({"action": "pause", "seconds": 200}, 200, None, True),
    ],
    ids=str,
)
def test_faults_of_the_service(
    start: StartMaas, fault: dict[str, Any], status: int | None, retry_after: str | None, effect: bool
) -> None:
    maas = start("machines: {n1: Ready}", time_scale=0.001 if "seconds" in fault else 1000)
    system_id = maas.id_of("n1")
    # Only this operation, and only once.
    maas.faults({"method": "POST", "path": "/machines/*/?op=deploy", "first": 1, **fault})
    assert maas.post(f"machines/{system_id}/?op=lock").status_code == 200
    assert maas.post(f"machines/{system_id}/?op=unlock").status_code == 200
    if status is None:
        with pytest.raises(requests.ConnectionError):
            maas.post(f"machines/{system_id}/?op=deploy")
    else:
        answer = maas.post(f"machines/{system_id}/?op=deploy")
        assert (answer.status_code, answer.headers.get("Retry-After")) == (status, retry_after)
    assert (maas.one("n1")["status_name"] != "Ready") is effect
    struck = [each for each in maas.control("GET", "requests") if each["fault"]]
    assert [each["fault"] for each in struck] == [fault.get("action", "error")]


def test_requests_wait_for_their_turn(start: StartMaas) -> None:
    maas = start("{machines: {n1-never-bmc: Deployed}, region: {requests_at_once: 2}}", time_scale=0.005)
    system_id = maas.id_of("n1-never-bmc")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: maas.get(f"machines/{system_id}/?op=query_power_state"), range(6)))
    done = [each for each in maas.control("GET", "requests") if each["operation"] == "query_power_state"]
    assert max(each["at_once"] for each in done) == 2
    assert sum(each["waited"] > 0.1 for each in done) >= 4


def test_faults_can_be_in_the_scenario_and_are_ended(start: StartMaas) -> None:
    maas = start("service: [{method: GET, path: /machines/, status: 503}]")
    assert maas.call("GET", "machines/").headers["Retry-After"] == "10"
    maas.control("DELETE", "faults")
    assert maas.get("machines/") == []


# Section 13: what upstream's driver also asks for


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
    assert maas.call("GET", "rackcontrollers/nobody/").status_code == 404
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


# What only the simulator has


def test_the_log_tells_each_change_with_its_cause(start: StartMaas) -> None:
    maas = start("machines: {n1: Ready}")
    maas.do("n1", "deploy", comment="a-7")
    maas.watch("n1", "Deployed")
    changes = [each for each in maas.control("GET", "log") if each["event"] == "machine" and each["kind"] == "status"]
    answered = [(each["from"], each["to"], each["cause"]["name"], each["cause"]["user"]) for each in changes]
    assert answered == [
        (None, "Ready", "scenario", None),
        ("Ready", "Allocated", "deploy", "shipyard"),
        ("Allocated", "Deploying", "deploy", "shipyard"),
        ("Deploying", "Deployed", "deployment ended", None),
    ]
    asked = {each["number"]: each for each in maas.control("GET", "requests")}
    request = asked[changes[1]["cause"]["request"]]
    assert (request["method"], request["operation"], request["status"]) == ("POST", "deploy", 200)
    assert [each["at"] for each in changes] == sorted(each["at"] for each in changes)


def test_histories_are_kept_after_deletion(start: StartMaas) -> None:
    maas = start("machines: {n1: Ready}")
    maas.call("DELETE", f"machines/{maas.id_of('n1')}/")
    (machine,) = maas.control("GET", "machines")
    assert (machine["status"], machine["changes"][-1]["to"]) == (None, None)
    assert machine["changes"][-1]["cause"]["user"] == "shipyard"


def test_another_scenario_is_played_from_now_on(start: StartMaas) -> None:
    maas = start("machines: {n1: New}")
    answered = maas.control("POST", "scenario", data="{name: bad, machines: {n1: Ready}, nodes: {n1: {deploy: fail}}}")
    assert answered["name"] == "bad"
    maas.do("n1", "deploy")
    maas.watch("n1", "Failed deployment")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("scenario", "nodes: {n1: {fly: fail}}"),
        ("scenario", "region: {requests_at_once: 0}"),
        ("machines", "[{hostname: UPPER}]"),
        ("faults", "[{action: bite}]"),
    ],
)
def test_what_cannot_be_played_is_refused_with_its_faults(maas: Maas, path: str, body: str) -> None:
    answer = requests.post(f"{maas.url}/simulator/{path}", data=body, timeout=PATIENCE)
    assert answer.status_code == 400
    assert answer.json()["faults"]


def test_a_site_design_is_read(start: StartMaas) -> None:
    with running(machines=read_site(FIVE_GROUPS), time_scale=1000) as simulator:
        maas = Maas(simulator.url)
        machines = {each["hostname"]: each for each in maas.get("machines/")}
        assert len(machines) == 16
        ntp = machines["ntp01"]
        assert (ntp["status_name"], ntp["zone"]["name"]) == ("New", "rack01")
        assert {"ntp", "rack01", "ntp-server__enabled", "site__five-groups"} <= set(ntp["tag_names"])
        assert maas.ask("ntp01", "power_parameters")["power_address"] == "10.23.0.11"
        assert len(maas.get("machines/?tags=compute&zone=rack02")) > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not YAML"),
        ("just text", "should be a list of machines"),
        ("[{hostname: n1}, {hostname: n1}]", "'n1' is there twice"),
        ("[{hostname: n1, status: Asleep}]", "machines[0].status"),
        ("[{hostname: n1, colour: red}]", "machines[0].colour is not known"),
        ("[{hostname: n1, tags: x}]", "machines[0].tags should be a list"),
        ("[{hostname: n1, tags: ['a=b']}]", "no name of a tag"),
        ("[{hostname: n1, memory: much}]", "machines[0].memory should be of the type int"),
        ("[7]", "should be"),
    ],
)
def test_sites_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(SiteInvalid) as refused:
        parse_site(text)
    assert message in str(refused.value)


# Every way that a machine may go: by an operation, or as time brings it.
RELEASED = {"Releasing", "Disk erasing"}
WAYS: dict[str, set[str]] = {
    "New": {"Commissioning", "Broken"},
    "Commissioning": {"Testing", "Ready", "New", "Failed commissioning", "Broken"},
    "Failed commissioning": {"Commissioning", "Testing", "Broken"},
    "Testing": set(STATUSES) - {"Commissioning", "Deploying", "Testing"} - RELEASED,
    "Failed testing": {"Testing", "Ready", "Deployed", "Broken"},
    "Ready": {"Commissioning", "Testing", "Allocated", "Broken"},
    "Allocated": {"Deploying", "Testing"} | RELEASED,
    "Deploying": {"Deployed", "Failed deployment", "Allocated"} | RELEASED,
    "Deployed": {"Testing"} | RELEASED,
    "Failed deployment": {"Testing"} | RELEASED,
    "Disk erasing": {"Releasing", "Failed disk erasing", "Broken"},
    "Failed disk erasing": {"Testing"} | RELEASED,
    "Releasing": {"Ready", "Releasing failed", "Broken"},
    "Releasing failed": {"Testing"} | RELEASED,
    "Broken": {"Commissioning", "Testing", "Ready"} | RELEASED,
}


def test_whatever_is_asked_in_whatever_order_machines_keep_to_the_ways(start: StartMaas, tmp_path: Path) -> None:
    nodes = "n0: {prepare: slow}, n1: {deploy: fail, times: 2}, n2: {bmc: flaps}, n3: {erase: fail, times: 1}"
    machines = "n0: New, n1: New, n2: New, n3: New"
    maas = start(f"{{machines: {{{machines}}}, nodes: {{{nodes}}}}}", time_scale=0.0002, state=tmp_path / "state")
    ids = [maas.id_of(f"n{number}") for number in range(4)]
    words = """
    commission test deploy release abort mark_broken mark_fixed override_failed_testing power_off query_power_state
    release?quick_erase
    """
    operations = words.split()

    def ask(seed: int) -> set[int]:
        random, statuses = Random(seed), set()
        for _ in range(80):
            operation, _, erase = random.choice(operations).partition("?")
            method = "GET" if operation.startswith("query") else "POST"
            form = {erase: "true"} if erase else {"comment": "x"}
            path = f"machines/{random.choice(ids)}/?op={operation}"
            answer = maas.call(method, path, data=form if method == "POST" else None)
            statuses.add(answer.status_code)
        return statuses

    with ThreadPoolExecutor(4) as pool:
        statuses = set().union(*pool.map(ask, range(4)))
    assert statuses <= {200, 400, 409}
    for machine in maas.control("GET", "machines"):
        changes = [each for each in machine["changes"] if each["kind"] == "status"]
        assert len(changes) > 10
        assert [each["from"] for each in changes[1:]] == [each["to"] for each in changes[:-1]]
        assert [each["at"] for each in changes] == sorted(each["at"] for each in changes)
        for each in changes[1:]:
            assert each["to"] in WAYS[each["from"]], f"{each['from']} to {each['to']}"


# Restarts, and the program


def test_with_a_state_file_machines_outlive_the_simulator(start: StartMaas, tmp_path: Path) -> None:
    state = tmp_path / "maas.json"
    options: dict[str, Any] = {"accounts": ACCOUNTS, "state": state}
    scenario = parse_scenario("machines: {n1: Ready, n2: Deployed}")
    with running(scenario, time_scale=0.002, **options) as simulator:
        maas = Maas(simulator.url)
        system_id = maas.id_of("n1")
        maas.post("tags/", name="kept")
        maas.do("n2", "set_workload_annotations", site="s1")
        maas.do("n1", "deploy", agent_name="a-7")
    with running(scenario, time_scale=0.002, **options) as simulator:
        maas = Maas(simulator.url)
        machine = maas.watch("n1", "Deployed")
        assert (machine["system_id"], machine["agent_name"]) == (system_id, "a-7")
        assert maas.one("n2")["workload_annotations"] == {"site": "s1"}
        assert [tag["name"] for tag in maas.get("tags/")] == ["kept"]
        assert maas.path_of("n1") == ["Ready", "Allocated", "Deploying", "Deployed"]
        assert maas.get("events/?op=query&hostname=n1")["events"][0]["type"] == "Deployed"


def test_a_killed_program_goes_on_where_it_was(tmp_path: Path) -> None:
    ready, state = tmp_path / "ready", tmp_path / "state.json"
    words = ["--port", "0", "--ready-file", ready, "--state", state, "--time-scale", "0.005", "--die-with-parent"]
    (tmp_path / "scenario.yaml").write_text("machines: {n1: Ready}")
    words += ["--scenario", tmp_path / "scenario.yaml", "--api-key", f"root={ADMIN}"]
    for attempt in range(2):
        ready.unlink(missing_ok=True)
        process = subprocess.Popen([*PROGRAM, *map(str, words)], cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            wait_for(ready.exists)
            maas = Maas(json.loads(ready.read_text())["url"])
            if attempt == 0:
                assert maas.do("n1", "deploy").status_code == 200
            else:
                assert maas.watch("n1", "Deployed")["owner"] == "root"
        finally:
            process.kill()
            process.wait()


def test_without_a_state_file_everything_is_forgotten() -> None:
    for _ in range(2):
        with running(parse_scenario("machines: {n1: Ready}"), accounts=ACCOUNTS, time_scale=1000) as simulator:
            maas = Maas(simulator.url)
            assert maas.do("n1", "deploy").json()["status_name"] == "Deploying"


def test_a_state_file_that_is_none_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "maas.json"
    state.write_text("[]")
    with pytest.raises(OSError, match="holds no state"), running(state=state):
        pass


def test_the_program_serves_and_writes_its_log(tmp_path: Path) -> None:
    site, log, ready = tmp_path / "site.yaml", tmp_path / "log.jsonl", tmp_path / "ready"
    site.write_text("- {hostname: n1, status: Ready, owner: ''}\n")
    words = ["--port", "0", "--site", site, "--log-file", log, "--ready-file", ready, "--die-with-parent"]
    words += ["--time-scale", "0.001", "--user-key", f"user={USER}", "--state", tmp_path / "state.json"]
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words)], env={**os.environ, "SIMULATOR_API_KEY": ADMIN}, cwd=ROOT, stdout=subprocess.PIPE
    )
    try:
        wait_for(ready.exists)
        maas = Maas(json.loads(ready.read_text())["url"])
        assert maas.get("users/?op=whoami")["username"] == "shipyard"
        assert maas.by(USER).get("users/?op=whoami")["is_superuser"] is False
        assert maas.by(OTHER_ADMIN).call("GET", "machines/").status_code == 401
        maas.do("n1", "deploy")
        # Nobody asks any more, and still it is written.
        wait_for(lambda: '"to": "Deployed"' in log.read_text())
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert output.startswith(b"MAAS simulator at http://127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--api-key", "only:two"], "three parts"),
        (["--user-key", "a:b:c"], "has no user"),
        (["--site", "/nowhere.yaml"], "cannot be read"),
        (["--state", "/nowhere/state.json"], "there is no directory"),
    ],
)
def test_the_program_names_what_is_wrong(words: list[str], message: str) -> None:
    code, lines = refusal("maas", *words)
    assert (code, message in "".join(lines)) == (2, True), lines


def test_a_foreign_client_drives_it(start: StartMaas) -> None:
    """MAAS's own client library of old, where it is installed; it builds itself from the description of the API."""
    client = pytest.importorskip("maas.client", reason="python-libmaas is not installed")
    maas = start("{machines: {n1: New, n2: New}, nodes: {n2: {deploy: fail}}}", accounts=ACCOUNTS)
    connected = client.connect(f"{maas.url}/MAAS/", apikey=ADMIN)
    machines = {each.hostname: each for each in connected.machines.list()}
    assert sorted(machines) == ["n1", "n2"]
    for machine in machines.values():
        machine.commission(wait=True, wait_interval=0.01)
        assert machine.status_name == "Ready"
    mine = connected.machines.allocate(hostname="n1", agent_name="a-7")
    assert mine.deploy(distro_series="jammy", user_data=b"#cloud-config", wait=True, wait_interval=0.01).owner
    assert mine.status_name == "Deployed"
    assert mine.query_power_state().value == "on"
    with pytest.raises(Exception, match="failed to deploy"):
        machines["n2"].deploy(wait=True, wait_interval=0.01)
    tag = connected.tags.create("control")
    mine.tags.add(tag)
    assert maas.one("n1")["tag_names"] == ["control"]
    mine.release(erase=True, quick_erase=True, wait=True, wait_interval=0.01)
    assert mine.status_name == "Ready"
    mine.delete()
    assert [each.hostname for each in connected.machines.list()] == ["n2"]


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def test_threads_end_with_the_simulator() -> None:
    before = set(threading.enumerate())
    with running() as simulator:
        assert requests.get(f"{simulator.url}{API}version/", timeout=PATIENCE).ok
    wait_for(lambda: not set(threading.enumerate()) - before)
