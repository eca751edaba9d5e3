"""API keys, OAuth headers and rights (contract, section 2)."""

import time

import pytest

from shipyard_simulators.tests.maas.client import ADMIN, USER, Maas, StartMaas, fresh, signature


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
def test_other_headers_are_rejected(maas: Maas, header: dict[str, str]) -> None:
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
def test_a_key_identifies_its_user(maas: Maas, key: str, name: str, admin: bool) -> None:
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
def test_operations_for_administrators_only(maas: Maas, method: str, path: str, form: dict[str, str]) -> None:
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
