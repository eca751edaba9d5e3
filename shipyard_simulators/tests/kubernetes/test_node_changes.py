"""Creating, patching and deleting nodes."""

from typing import Any

import pytest

from shipyard_simulators.tests.kubernetes.client import AT_ONCE, MERGE, STRATEGIC, Cluster, Start


def test_a_merge_patch_replaces_lists_and_a_strategic_one_merges_conditions_by_type(cluster: Cluster) -> None:
    cluster.add("n1")
    for headers, left in ((MERGE, ["A"]), (STRATEGIC, ["A", "B"]), (STRATEGIC, ["A", "B"]), (MERGE, ["B"])):
        body = {"status": {"conditions": [{"type": left[-1], "status": "True"}]}}
        answer = cluster.call("PATCH", "/nodes/n1/status", json=body, headers=headers)
        assert [each["type"] for each in answer.json()["status"]["conditions"]] == left


CIDR = {"podCIDR": "10.1.0.0/24"}


def test_status_and_the_rest_are_changed_apart(cluster: Cluster) -> None:
    cluster.add("n1")
    both = {"spec": CIDR, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    changed = cluster.call("PATCH", "/nodes/n1", json=both, headers=MERGE).json()
    assert (changed["spec"], changed["status"]) == (CIDR, {})
    changed = cluster.call("PATCH", "/nodes/n1/status", json={**both, "spec": None}, headers=STRATEGIC).json()
    assert (changed["spec"], len(changed["status"]["conditions"])) == (CIDR, 1)


def test_a_version_is_new_with_every_change_and_only_then(cluster: Cluster) -> None:
    first = cluster.add("n1")["metadata"]["resourceVersion"]
    patches = [{"spec": CIDR}, {"spec": CIDR}, {"spec": None}]
    changed = [cluster.call("PATCH", "/nodes/n1", json=patch, headers=MERGE).json() for patch in patches]
    versions = [int(first), *(int(each["metadata"]["resourceVersion"]) for each in changed)]
    assert versions[0] < versions[1] == versions[2] < versions[3]
    assert changed[-1]["spec"] == {}


def test_a_change_of_an_outdated_object_is_a_conflict(cluster: Cluster) -> None:
    version = cluster.add("n1")["metadata"]["resourceVersion"]
    for code in (200, 409):
        body = {"metadata": {"resourceVersion": version, "labels": {"a": str(code)}}}
        assert cluster.call("PATCH", "/nodes/n1", json=body, headers=MERGE).status_code == code
    assert cluster.get("/nodes/n1")["metadata"]["labels"] == {"a": "200"}


REFUSED: dict[str, tuple[str, str, dict[str, Any], tuple[int, str]]] = {
    "no such node": ("GET", "/nodes/n9", {}, (404, "NotFound")),
    "no such node to change": ("PATCH", "/nodes/n9", {"json": {}, "headers": MERGE}, (404, "NotFound")),
    "no such node to delete": ("DELETE", "/nodes/n9", {}, (404, "NotFound")),
    "a second of the name": ("POST", "/nodes", {"json": {"metadata": {"name": "n1"}}}, (409, "AlreadyExists")),
    "a name in capitals": ("POST", "/nodes", {"json": {"metadata": {"name": "N_1"}}}, (422, "Invalid")),
    "no name": ("POST", "/nodes", {"json": {}}, (422, "Invalid")),
    "another kind": ("POST", "/nodes", {"json": {"kind": "Pod", "apiVersion": "v1"}}, (400, "BadRequest")),
    "no JSON": ("POST", "/nodes", {"data": '{"ki'}, (400, "BadRequest")),
    "no object": ("POST", "/nodes", {"json": ["n1"]}, (400, "BadRequest")),
    "another media type": ("PATCH", "/nodes/n1", {"json": {}}, (415, "UnsupportedMediaType")),
    "another name": (
        "PATCH",
        "/nodes/n1",
        {"json": {"metadata": {"name": "n2"}}, "headers": MERGE},
        (400, "BadRequest"),
    ),
    "another uid": ("PATCH", "/nodes/n1", {"json": {"metadata": {"uid": "x"}}, "headers": MERGE}, (422, "Invalid")),
    "a condition without a type": (
        "PATCH",
        "/nodes/n1/status",
        {"json": {"status": {"conditions": [{"status": "True"}]}}, "headers": STRATEGIC},
        (400, "BadRequest"),
    ),
    "another node of the name": ("DELETE", "/nodes/n1", {"json": {"preconditions": {"uid": "x"}}}, (409, "Conflict")),
    "a method that it does not have": ("PUT", "/nodes", {}, (405, "MethodNotAllowed")),
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
    answer = cluster.call("DELETE", "/nodes/n1", json={"preconditions": {"uid": uid}}).json()
    assert (answer["status"], answer["details"]) == ("Success", {"name": "n1", "kind": "nodes", "uid": uid})
    assert cluster.names() == []
    cluster.control("POST", "nodes/n1/join")
    assert cluster.get("/nodes/n1")["metadata"]["uid"] != uid


def test_a_node_that_something_holds_is_only_marked_as_being_deleted(cluster: Cluster) -> None:
    cluster.add("n1", finalizers=["example.org/hold"])
    for _ in range(2):
        marked = cluster.call("DELETE", "/nodes/n1").json()
        assert (marked["kind"], marked["metadata"]["deletionGracePeriodSeconds"]) == ("Node", 0)
    assert cluster.get("/nodes/n1")["metadata"]["deletionTimestamp"].endswith("Z")
    assert cluster.call("PATCH", "/nodes/n1", json={"metadata": {"finalizers": None}}, headers=MERGE).ok
    assert cluster.names() == []
