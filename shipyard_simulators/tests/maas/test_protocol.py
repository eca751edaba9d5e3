"""Paths, operations and forms of requests (contract, section 1)."""

import base64
from typing import Any

import pytest

from shipyard_simulators.tests.maas.client import Maas, fresh


def test_the_version_is_open_to_all(maas: Maas) -> None:
    answer = maas.call("GET", "version/", signed=False)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json()["version"] == "3.5.4"
    assert {"networks-management", "authenticate-api"} <= set(answer.json()["capabilities"])


@pytest.mark.parametrize("path", ["version/", "machines/", "users/?op=whoami", "nowhere/", "machines/unknown/"])
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
