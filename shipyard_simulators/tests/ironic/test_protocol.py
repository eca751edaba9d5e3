"""Versions, authentication and errors of Ironic's API."""

import pytest

from shipyard_simulators.tests.ironic.client import VERSION, Ironic, StartIronic


def test_the_header_that_all_services_share_goes_first(shared: Ironic) -> None:
    headers = {"OpenStack-API-Version": "compute 2.1, baremetal 1.80"}
    assert shared.call("GET", "/v1", version="1.20", headers=headers).headers[VERSION] == "1.80"


def test_an_older_ironic_offers_less(start: StartIronic) -> None:
    ironic = start(highest=69)

    assert ironic.call("GET", "/v1", version="1.70").status_code == 406
    answer = ironic.call("GET", "/v1", version=None)
    assert answer.headers["X-OpenStack-Ironic-API-Maximum-Version"] == "1.69"
    assert answer.json()["version"]["version"] == "1.69"


def test_without_authentication_any_client_is_accepted(shared: Ironic) -> None:
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


@pytest.mark.parametrize(
    ("method", "path", "largest"),
    [("POST", "/v1/nodes", 2**20), ("PUT", "/v1/nodes/{n}/states/provision", 2**26)],
)
def test_a_body_that_is_too_large_is_413(shared: Ironic, name: str, method: str, path: str, largest: int) -> None:
    shared.create(name)
    for more, status in ((0, 400), (1, 413)):
        body = b" " * (largest + more - 2) + b"[]"
        assert shared.call(method, path.format(n=name), data=body).status_code == status
