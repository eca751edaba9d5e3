"""Creating, patching and deleting nodes."""

from typing import Any

import pytest

from shipyard_simulators.tests.kubernetes.client import AT_ONCE, MERGE, Cluster, Start

CIDR = {"podCIDR": "10.1.0.0/24"}


def test_a_version_is_new_with_every_change_and_only_then(cluster: Cluster) -> None:
    first = cluster.add("n1")["metadata"]["resourceVersion"]
    patches = [{"spec": CIDR}, {"spec": CIDR}, {"spec": None}]
    changed = [cluster.call("PATCH", "/nodes/n1", json=patch, headers=MERGE).json() for patch in patches]
    versions = [int(first), *(int(each["metadata"]["resourceVersion"]) for each in changed)]
    assert versions[0] < versions[1] == versions[2] < versions[3]
    assert changed[-1]["spec"] == {}


REFUSED: dict[str, tuple[str, str, dict[str, Any], tuple[int, str]]] = {
    "another kind": ("POST", "/nodes", {"json": {"kind": "Pod", "apiVersion": "v1"}}, (400, "BadRequest")),
    "no JSON": ("POST", "/nodes", {"data": '{"ki'}, (400, "BadRequest")),
    "no object": ("POST", "/nodes", {"json": ["n1"]}, (400, "BadRequest")),
    "another uid": ("PATCH", "/nodes/n1", {"json": {"metadata": {"uid": "x"}}, "headers": MERGE}, (422, "Invalid")),
}


@pytest.mark.parametrize(("method", "path", "options", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_a_status(
    cluster: Cluster, method: str, path: str, options: dict[str, Any], expected: tuple[int, str]
) -> None:
    before = cluster.add("n1")
    assert cluster.fault(method, path, **options)[:2] == expected
    assert cluster.get("/nodes/n1") == before


def test_a_path_that_is_not_there_is_not_found(cluster: Cluster) -> None:
    assert cluster.call("GET", "/api/v1/secrets").status_code == 404


def test_a_deleted_node_is_gone_and_stays_away(start: Start) -> None:
    cluster = start(AT_ONCE, nodes=["n1"])
    uid = cluster.get("/nodes/n1")["metadata"]["uid"]
    cluster.call("DELETE", "/nodes/n1")
    assert cluster.names() == []
    cluster.control("POST", "nodes/n1/join")
    assert cluster.get("/nodes/n1")["metadata"]["uid"] != uid
