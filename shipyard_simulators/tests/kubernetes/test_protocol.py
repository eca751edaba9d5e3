"""Tokens, faults and discovery."""

from typing import Any

import pytest
import requests

from shipyard_simulators.tests.kubernetes.client import Cluster, Start


def test_requests_need_the_token(start: Start) -> None:
    cluster = start(token="s3cret")
    assert cluster.call("GET", "/nodes", headers={"Authorization": "Bearer s3cret"}).ok
    assert cluster.fault("GET", "/nodes", headers={"Authorization": "Bearer other"})[:2] == (401, "Unauthorized")
    code, reason, message = cluster.fault("GET", "/nodes")
    assert (code, reason) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "nodes"' in message
    assert 'nodes "n1" is forbidden' in cluster.fault("GET", "/nodes/n1")[2]
    assert cluster.fault("GET", "/api")[2] == 'forbidden: User "system:anonymous" cannot get path "/api"'
    assert cluster.call("GET", "/readyz").text == "ok"
    assert cluster.fault("GET", "/version", headers={"Authorization": "Bearer other"})[0] == 401
    assert cluster.call("GET", "/simulator/nodes").ok


def test_the_service_misbehaves_in_its_own_words(cluster: Cluster) -> None:
    def struck(fault: dict[str, Any]) -> requests.Response:
        cluster.control("POST", "faults", [{"method": "GET", "path": "/nodes", "first": 1, **fault}])
        return cluster.call("GET", "/nodes")

    for code, reason in ((401, "Unauthorized"), (403, "Forbidden"), (409, "Unknown"), (500, "InternalError")):
        answer = struck({"status": code})
        assert (answer.status_code, answer.json()["code"], answer.json()["reason"]) == (code, code, reason)
    assert struck({"status": 429}).headers["Retry-After"] == "1"
    assert struck({"status": 503}).headers["Content-Type"] == "text/html"
    for action in ("drop", "truncate"):
        with pytest.raises(requests.RequestException):
            struck({"action": action}).json()
    assert cluster.call("GET", "/nodes").ok
    assert [each["fault"] for each in cluster.get("/simulator/requests")][-3:] == ["drop", "truncate", None]


def test_clients_discover_the_api(cluster: Cluster) -> None:
    assert cluster.get("/version")["gitVersion"].startswith("v1.")
    assert cluster.get("/api")["versions"] == ["v1"]
    assert [each["name"] for each in cluster.get("/apis")["groups"]] == ["apps", "coordination.k8s.io", "policy"]
    resources = {each["name"]: each for each in cluster.get("/api/v1")["resources"]}
    assert (resources["nodes"]["kind"], resources["nodes"]["namespaced"]) == ("Node", False)
    assert set(resources) == {"nodes", "nodes/status", "namespaces", "pods", "pods/status", "pods/eviction"}
    assert cluster.get("/apis/apps/v1")["groupVersion"] == "apps/v1"
    assert [cluster.call("GET", path).text for path in ("/healthz", "/livez", "/readyz")] == ["ok"] * 3
