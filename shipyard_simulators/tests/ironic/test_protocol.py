"""Versions, authentication and errors of Ironic's API."""

from typing import Any
from uuid import UUID

import pytest

from shipyard_simulators.tests.ironic.client import LATEST, VERSION, Ironic, StartIronic, add, said


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
def test_a_later_field_path_or_verb_is_406(
    shared: Ironic, name: str, method: str, path: str, body: Any, version: str
) -> None:
    shared.create(name)
    assert shared.call(method, path.format(n=name), body, version=version).status_code == 406


def test_nodes_have_no_names_in_the_first_versions(shared: Ironic, name: str) -> None:
    uuid = shared.create(name)["uuid"]

    assert shared.call("GET", f"/v1/nodes/{name}", version=None).status_code == 404
    answer = shared.call("GET", f"/v1/nodes/{uuid}", version=None)
    assert answer.status_code == 200
    assert not {"name", "traits", "fault"} & set(answer.json())


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
    ("method", "path", "status", "text"),
    [
        ("GET", "/v1/nodes/unknown", 404, "Node unknown could not be found."),
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
        ("GET", "/v1/allocations/unknown", 404, "could not be found"),
        ("GET", "/v1/deploy_templates/CUSTOM_UNKNOWN", 404, "could not be found"),
    ],
)
def test_errors_are_json_in_a_string(shared: Ironic, method: str, path: str, status: int, text: str) -> None:
    answer = shared.call(method, path)

    assert answer.status_code == status
    assert text in said(answer)
    assert answer.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize(
    ("method", "path", "largest"),
    [("POST", "/v1/nodes", 2**20), ("PUT", "/v1/nodes/{n}/states/provision", 2**26)],
)
def test_a_body_that_is_too_large_is_413(shared: Ironic, name: str, method: str, path: str, largest: int) -> None:
    shared.create(name)
    for more, status in ((0, 400), (1, 413)):
        body = b" " * (largest + more - 2) + b"[]"
        assert shared.call(method, path.format(n=name), data=body).status_code == status
