"""Each pair of what matters to an operation on one node in some run, judged by the logs of Kubernetes and etcd."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from typing import Any
from urllib.request import Request, urlopen

import pytest

from shipyard_api.domain.node_operations import NodeOperation as Do
from tests.combinations.budgets import budget_of
from tests.combinations.model import OPTIONS as SITE_OPTIONS
from tests.combinations.model import Row
from tests.combinations.operations import call, quick_answers
from tests.combinations.pairwise import rows
from tests.combinations.site import Site
from tests.combinations.test_rows import _prepared

NODE = "n1"
OPTIONS = {
    "operation": tuple(one.value for one in Do),
    "before": ("nothing", "decommission"),
    "etcd": ("members", "none"),
    "budget": ("no", "yes"),
    "held": ("no", "yes"),
    "store": ("embedded", "deckhand"),
}
DRAINS = (Do.DRAIN.value, Do.DECOMMISSION.value)
TAKES_MEMBERS = (Do.REMOVE_ETCD.value, Do.DECOMMISSION.value)
STOPS_KUBELETS = (Do.SHUT_DOWN_KUBELET.value, Do.DECOMMISSION.value)
SHORT = {
    Do.DRAIN.value: "timeout=20&grace-period=10",
    Do.DECOMMISSION.value: "drain-node-timeout=20&drain-node-grace-period=10",
}


def makes_sense(row: Row) -> bool:
    """Return whether each value of a row, or part of one, means something."""
    kept = row.get("budget") == "yes"
    return not (kept and (row.get("operation", DRAINS[0]) not in DRAINS or row.get("before", "nothing") != "nothing"))


def refusal(row: Row) -> tuple[int, str] | None:
    """Return the status and a word of the answer to what must not be done."""
    operation, before = row["operation"], row["before"]
    if row["held"] == "yes":
        return 409, "held"
    if operation == Do.REMOVE_FROM_CLUSTER.value and before != "decommission":
        return 409, "Clear them first"
    if row["budget"] == "yes":
        return 500, budget_of(NODE)
    return None


@pytest.mark.parametrize("row", rows(OPTIONS, makes_sense, seed=3), ids=lambda row: " ".join(row.values()))
def test_an_operation_does_what_it_says_once(module_database_url: str, row: Row) -> None:
    plain = {name: values[0] for name, values in SITE_OPTIONS.items()}
    fails = {"fails": "first", "phase": "drain"} if row["budget"] == "yes" else {}
    whole = {**plain, "etcd": row["etcd"], "store": row["store"], "targets": "1", **fails}
    with quick_answers(), closing(Site(module_database_url, whole)) as site:
        _prepared(site, whole)
        if row["before"] != "nothing":
            assert done(site, row["before"]).status_code == 200
        if row["held"] == "yes":
            site.ask("POST", f"/nodes/{NODE}/holds", {"reason": "new disk"}, expect=201)
        began, expected = len(site.cluster_events()), refusal(row)
        answer = done(site, row["operation"])
        if expected:
            assert (answer.status_code, expected[1] in answer.text) == (expected[0], True), answer.text
            assert row["held"] == "no" or changes(site)[began:] == []
            return
        assert answer.status_code == 200, answer.text
        assert goal(site, row) == reached(site, row)
        count = Counter(changes(site))
        again = done(site, row["operation"])
        gone = row["operation"] == Do.REMOVE_FROM_CLUSTER.value
        assert again.status_code == (404 if gone else 200), again.text
        assert goal(site, row) == reached(site, row)
        once = [one for one in Counter(changes(site)) - count if one[0] in ("evicted", "stopped", "removed")]
        assert once == []


def done(site: Site, operation: str) -> Any:
    """Return the answer to an operation on the node."""
    return call(site, Do(operation), NODE, SHORT.get(operation, ""))


def changes(site: Site) -> list[tuple[str, str]]:
    """Return what was changed in the cluster, in order, by the log of its API server."""
    found = []
    for event in site.cluster_events():
        if event["event"] == "kubelet_stopped":
            found.append(("stopped", event["node"]))
        elif event["event"] == "node_removed":
            found.append(("removed", event["node"]))
        elif event["event"] == "request" and event["method"] != "GET" and event["status"] in (200, 201):
            found.append(("evicted" if event["path"].endswith("/eviction") else event["method"], event["path"]))
    return found


def goal(site: Site, row: Row) -> dict[str, bool]:
    """Return what is to be true of the node after the operation and the one before it."""
    ran = {row["operation"], row["before"]}
    wanted = {"cordoned": bool(ran & {*DRAINS}) and row["operation"] != Do.UNCORDON.value}
    wanted["kubelet stopped"] = bool(ran & {*STOPS_KUBELETS})
    wanted["removed"] = row["operation"] == Do.REMOVE_FROM_CLUSTER.value
    if site.members:
        wanted["etcd member"] = not ran & {*TAKES_MEMBERS}
    if wanted["removed"]:
        del wanted["cordoned"]
    return wanted


def reached(site: Site, row: Row) -> dict[str, bool]:
    """Return the same by the records of the cluster and of etcd."""
    events = site.cluster_events()
    cordoned = [one["cordoned"] for one in events if one["event"] == "node_changed" and one["node"] == NODE]
    found = {"cordoned": cordoned[-1:] == [True], "kubelet stopped": ("stopped", NODE) in changes(site)}
    found["removed"] = ("removed", NODE) in changes(site)
    if site.members:
        asked = Request(f"{site.members.endpoints[-1]}/v3/cluster/member/list", b"{}", method="POST")
        with urlopen(asked) as answer:
            found["etcd member"] = NODE in [one["name"] for one in json.load(answer)["members"]]
    if found["removed"]:
        del found["cordoned"]
    return found
