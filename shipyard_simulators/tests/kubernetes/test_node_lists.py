"""Lists of nodes: pages, selectors and versions."""

import pytest

from shipyard_simulators.tests.kubernetes.client import Cluster


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


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"continue": "x"}, 400),
        ({"continue": "e30"}, 400),
        ({"labelSelector": "a=b=c"}, 400),
        ({"watch": "true"}, 400),
        ({"continue": "e30", "resourceVersion": "7"}, 400),
    ],
    ids=str,
)
def test_an_invalid_query_is_refused(cluster: Cluster, query: dict[str, str], code: int) -> None:
    assert cluster.fault("GET", "/nodes", params=query)[0] == code
