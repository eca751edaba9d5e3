"""Lists of nodes: pages, selectors and versions."""

import pytest

from shipyard_simulators.tests.kubernetes.client import AT_ONCE, MERGE, Cluster, Start


def test_a_list_has_the_shape_of_a_list(start: Start) -> None:
    cluster = start(AT_ONCE, nodes=["n2", "n1"])
    listed = cluster.get("/nodes")
    assert (listed["kind"], listed["apiVersion"]) == ("NodeList", "v1")
    assert [node["metadata"]["name"] for node in listed["items"]] == ["n1", "n2"]
    assert all("kind" not in node for node in listed["items"])
    assert set(listed["metadata"]) == {"resourceVersion"}
    assert (cluster.get("/nodes/n1")["kind"], cluster.get("/nodes/n1/status")["kind"]) == ("Node", "Node")


def test_pages_belong_to_one_moment(cluster: Cluster) -> None:
    for name in ("n1", "n2", "n4"):
        cluster.add(name)
    first = cluster.get("/nodes", limit=2)
    assert first["metadata"]["remainingItemCount"] == 1
    cluster.add("n3")
    cluster.call("DELETE", "/nodes/n4")
    second = cluster.get("/nodes", limit=2, **{"continue": first["metadata"]["continue"]})
    assert [node["metadata"]["name"] for node in second["items"]] == ["n4"]
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}
    assert cluster.names() == ["n1", "n2", "n3"]


def test_a_list_expires_and_says_how_to_read_on_all_the_same(cluster: Cluster) -> None:
    for name in ("n1", "n2", "n3"):
        cluster.add(name)
    following = cluster.get("/nodes", limit=1)["metadata"]["continue"]
    cluster.call("DELETE", "/nodes/n2")
    cluster.control("POST", "compaction")
    answer = cluster.call("GET", "/nodes", params={"limit": 1, "continue": following})
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")
    rest = cluster.get("/nodes", limit=1, **{"continue": answer.json()["metadata"]["continue"]})
    assert [node["metadata"]["name"] for node in rest["items"]] == ["n3"]


SELECTED = {
    "rack=r1": "n1 n2",
    "rack==r1,gen!=b": "n1",
    "gen": "n2",
    "!gen": "n1 n3",
    " rack != r1 ": "n3",
    "rack=": "",
    "": "n1 n2 n3",
}


@pytest.mark.parametrize(("selector", "expected"), SELECTED.items())
def test_labels_select(cluster: Cluster, selector: str, expected: str) -> None:
    cluster.add("n1", labels={"rack": "r1"})
    cluster.add("n2", labels={"rack": "r1", "gen": "b"})
    cluster.add("n3")
    assert cluster.names(labelSelector=selector) == expected.split()


def test_fields_select(cluster: Cluster) -> None:
    cluster.add("n1")
    cluster.add("n2")
    cluster.call("PATCH", "/nodes/n2", json={"spec": {"unschedulable": True}}, headers=MERGE)
    assert cluster.names(fieldSelector="metadata.name=n1") == ["n1"]
    assert cluster.names(fieldSelector="metadata.name!=n1") == ["n2"]
    assert cluster.names(fieldSelector="spec.unschedulable=true") == ["n2"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "x"}, 400),
        ({"continue": "x"}, 400),
        ({"continue": "e30"}, 400),
        ({"labelSelector": "a=b=c"}, 400),
        ({"fieldSelector": "status.phase=x"}, 400),
        ({"fieldSelector": "metadata.name"}, 400),
        ({"watch": "true"}, 400),
        ({"resourceVersion": "zz"}, 500),
        ({"continue": "e30", "resourceVersion": "7"}, 400),
    ],
    ids=str,
)
def test_an_invalid_query_is_refused(cluster: Cluster, query: dict[str, str], code: int) -> None:
    assert cluster.fault("GET", "/nodes", params=query)[0] == code
