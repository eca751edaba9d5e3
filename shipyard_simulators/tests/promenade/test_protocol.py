"""Promenade's API: bodies, headers and refusals (contract: promenade, sections 1 to 3)."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from shipyard_simulators.promenade.simulator import PromenadeSimulator
from shipyard_simulators.tests.in_process import HTTP, unserved

DESIGN = {"rel": "design", "href": "deckhand+http://deckhand/revisions/1/rendered-documents"}
REFERENCE = {**DESIGN, "type": "application/x-yaml"}


@pytest.fixture(scope="module")
def promenade() -> Iterator[PromenadeSimulator]:
    with unserved(PromenadeSimulator(nodes=["n1"], token="right")) as simulator:
        yield simulator


def call(promenade: PromenadeSimulator, method: str, path: str, **options: Any) -> requests.Response:
    headers = {"X-Auth-Token": "right", **options.pop("headers", {})}
    return HTTP.request(method, f"{promenade.url}/api/v1.0{path}", headers=headers, **options)


REFUSALS: dict[str, tuple[str, str, dict[str, Any], tuple[int, str | None, str]]] = {
    "another token": ("POST", "/validatedesign", {"headers": {"X-Auth-Token": "x"}}, (401, None, "ApiError")),
    "another path": ("POST", "/nodes/n1/explode", {}, (404, None, "HTTPRouteNotFound")),
    "another node": ("POST", "/nodes/n9/drain", {}, (404, "NotFound", "NodeNotFoundException")),
    "too much grace": ("POST", "/nodes/n1/drain?timeout=5", {}, (400, "BadRequest", "InvalidFormatError")),
    "no number": ("POST", "/nodes/n1/drain?timeout=soon", {}, (400, "BadRequest", "InvalidFormatError")),
    "zero": ("POST", "/nodes/n1/clear-labels?timeout=0", {}, (400, "BadRequest", "InvalidFormatError")),
    "no design": ("POST", "/nodes/n1/remove-etcd", {}, (400, "BadRequest", "InvalidFormatError")),
    "no reference": ("GET", "/etcd-cluster-health-statuses", {}, (400, "MissingDesignRef", "InvalidFormatError")),
    "no etcd": ("GET", "/etcd-cluster-health-statuses?design_ref=d", {}, (404, "NotFound", "NotFound")),
    "not drained": ("POST", "/nodes/n1/remove-from-cluster", {}, (409, "Conflict", "Conflict")),
}


@pytest.mark.parametrize(("method", "path", "options", "expected"), REFUSALS.values(), ids=REFUSALS)
def test_refusals(promenade: PromenadeSimulator, method: str, path: str, options: Any, expected: Any) -> None:
    body = call(promenade, method, path, **options).json()
    assert (int(body["code"].split()[0]), body["reason"], body["details"]["errorType"]) == expected
    assert (body["kind"], body["status"], body["retry"]) == ("status", "Failure", False)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"json": {"href": DESIGN["href"]}}, 200),
        ({"json": REFERENCE}, 200),
        ({"json": {}}, 400),
        ({}, 400),
        ({"data": "{}", "headers": {"Content-Type": "application/json; charset=utf-8"}}, 400),
    ],
    ids=["href alone", "whole reference", "no href", "no body", "a charset"],
)
def test_a_validation_reads_only_the_address_and_fails_in_its_own_form(
    promenade: PromenadeSimulator, options: Any, code: int
) -> None:
    answer = call(promenade, "POST", "/validatedesign", **options)
    body = answer.json()
    assert (answer.status_code, body["kind"], body["reason"]) == (code, "Status", "Validation")
    assert body["message"] == f"Promenade validations {'succeeded' if code == 200 else 'failed'}"
    assert [each["kind"] for each in body["details"]["messageList"]] == ["ValidationMessage"] * (code == 400)


def test_every_answer_echoes_the_caller_and_has_a_request_id(promenade: PromenadeSimulator) -> None:
    sent = {"X-Context-Marker": "m", "X-End-User": "u"}
    for path in ("/health", "/nowhere"):
        headers = call(promenade, "GET", path, headers=sent).headers
        assert {name: headers[name] for name in sent} == sent
        assert headers["X-Deckhand-Req"]


def test_an_operation_runs_once_and_a_removed_node_is_unknown(promenade: PromenadeSimulator) -> None:
    assert call(promenade, "GET", "/health", headers={"X-Auth-Token": ""}).status_code == 204
    for operation in ("drain", "clear-labels", "remove-from-cluster"):
        answer = call(promenade, "POST", f"/nodes/n1/{operation}").json()
        assert (answer["kind"], answer["reason"], answer["details"]["errorCount"]) == ("Status", "Success", 0)
    assert call(promenade, "POST", "/nodes/n1/drain").status_code == 404
