"""What is read from which revision: a row of docs/reference/revisions.md each.

Revision 1 is installed and names no etcd cluster; revision 2 is committed, not deployed, and names one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from falcon.testing import Result
from msgspec.structs import fields

from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.usecases.actions.reconcile import ReconcileAction
from tests.conftest import ROOT
from tests.factories import document
from tests.integration.api.cluster_world import HREF, ClusterWorld, reference
from tests.integration.api.wire import JSON, configuration, everything_said, small_design
from tests.teardown_world import ETCD

INSTALLED, COMMITTED = 1, 2
FORBIDDEN = f"Without n1, etcd cluster {ETCD} has no healthy member"


@pytest.fixture
def newer(world: ClusterWorld) -> ClusterWorld:
    """n1 holds the last healthy member of a cluster that only the committed design names."""
    world.site.commit(*small_design())
    world.site.designs.tag(Revision(INSTALLED), RevisionTag.SITE_ACTION_SUCCESS.value, {"dag_id": "-"})
    cluster = {"name": ETCD, "endpoints": ["http://10.0.0.2:2379"]}
    sections = {
        "kubernetes_provisioner": {"drain_timeout": 77, "drain_grace_period": 7},
        "physical_provisioner": {
            "hold_after_failures": 2,
            "policy": {"budgets": [{"name": "all", "max_unavailable": 1}]},
        },
    }
    more = [
        document("promenade/EtcdClusters/v1", "etcd-clusters", {"clusters": [cluster]}),
        document("promenade/Genesis/v1", "genesis", {"hostname": "n2"}),
    ]
    world.site.commit(configuration(**sections), *small_design()[1:], *more)
    world.programs.etcd.form(ETCD, "n1", "n2", "n3", dead=["n2", "n3"])
    return world


def request(name: str, **parameters: Any) -> str:
    return json.dumps({"name": name, "parameters": parameters})


def redeploy(world: ClusterWorld, node: str = "n1", **parameters: Any) -> Result:
    return world.site.admin.act(request("redeploy_server", target_nodes=[node], **parameters))


def plan(world: ClusterWorld, name: str, **parameters: Any) -> Any:
    return world.site.viewer.post("/plans", request(name, **parameters), JSON).json


def inputs(world: ClusterWorld, answer: Result) -> Any:
    assert answer.status == "201 Created", answer.text
    return next(action.inputs for action in world.actions() if action.id == answer.json["id"])


def etcd_of_redeploy(world: ClusterWorld) -> None:
    assert FORBIDDEN in everything_said(redeploy(world))
    planned = plan(world, "redeploy_server", target_nodes=["n1"])
    assert (planned["revision"], planned["refused"]["title"]) == (INSTALLED, "Etcd forbids the teardown")
    assert [each["cluster"] for each in planned["drains"][0]["plan"]["etcd"]] == [ETCD]


def etcd_of_operation(world: ClusterWorld) -> None:
    for operation in ("decommission", "remove-etcd"):
        assert FORBIDDEN in everything_said(world.call("n1", operation, reference(INSTALLED)))
    world.programs.etcd.form(ETCD, "n1", "n2", "n3")
    done = world.call("n1", "remove-etcd", reference(INSTALLED))
    assert f"etcd member {ETCD}-n1 left cluster {ETCD}" in everything_said(done)


def etcd_of_drain_plan(world: ClusterWorld) -> None:
    found = world.site.viewer.get("/nodes/n1/drain-plan").json
    assert (found["revision"], [each["cluster"] for each in found["etcd"]]) == (COMMITTED, [ETCD])


def genesis(world: ClusterWorld) -> None:
    found = world.site.viewer.get("/nodes/n2/drain-plan").json
    assert "GenesisNode" in [finding["name"] for finding in found["findings"]]


def limits_of_action(world: ClusterWorld) -> None:
    stored = inputs(world, redeploy(world, **{"target-revision": "successful-site-action"}, force=True))
    assert (stored["revision"], stored["limits"]["drain"]) == (INSTALLED, 77)


def limits_of_operation(world: ClusterWorld) -> None:
    world.call("n1", "drain")
    (action,) = world.actions()
    assert action.inputs["limits"]["drain"] == 77


def deployment_configuration(world: ClusterWorld) -> None:
    assert inputs(world, redeploy(world, force=True))["hold_after"] == 2


def policy(world: ClusterWorld) -> None:
    stored = inputs(world, world.site.admin.act(request("deploy_site")))
    assert (stored["revision"], "policy" in stored) == (COMMITTED, True)


def content(world: ClusterWorld) -> None:
    named = {"successful-site-action": INSTALLED, "committed": COMMITTED}
    plans = {
        target: plan(world, "redeploy_server", target_nodes="n1", **{"target-revision": target}) for target in named
    }
    assert {target: planned["revision"] for target, planned in plans.items()} == named
    assert plan(world, "deploy_site")["revision"] == COMMITTED


def labels(world: ClusterWorld) -> None:
    assert plan(world, "relabel_nodes", target_nodes="n1")["revision"] == COMMITTED


def health(world: ClusterWorld) -> None:
    path = "/api/v1.0/etcd-cluster-health-statuses"
    queries = [urlencode({"design_ref": HREF.format(revision)}) for revision in (INSTALLED, COMMITTED)]
    by_revision = [world.site.admin.ask("GET", path, query=query).status[:3] for query in queries]
    assert by_revision == ["404", "200"]


def holds(world: ClusterWorld) -> None:
    world.programs.etcd.form(ETCD, "n1", "n2", "n3")
    world.site.admin.post("/nodes/n1/holds", '{"reason": "new disk"}', JSON)
    assert "n1 is held" in everything_said(redeploy(world))


def reconcile(_world: ClusterWorld) -> None:
    assert [field.name for field in fields(ReconcileAction)] == ["store"]


ROWS: Mapping[str, Callable[[ClusterWorld], None]] = {
    "etcd clusters of `redeploy_server`": etcd_of_redeploy,
    "etcd clusters of a node operation": etcd_of_operation,
    "etcd clusters of a drain plan": etcd_of_drain_plan,
    "genesis host": genesis,
    "drain limits of an action": limits_of_action,
    "drain limits of a node operation": limits_of_operation,
    "deployment configuration": deployment_configuration,
    "rollout policy": policy,
    "holds": holds,
    "content of the server": content,
    "labels of `relabel_nodes`": labels,
    "reconcile": reconcile,
    "etcd health": health,
}
ELSEWHERE = {
    "etcd clusters of `remove_server`": (
        "integration/test_redeploy_on_simulators.py",
        "test_members_of_a_cluster_that_is_committed_and_not_deployed_yet_leave_first",
    ),
    "etcd clusters of `service_server`": (
        "unit/actions/test_teardown_steps.py",
        "test_what_protects_is_read_from_the_newest_committed_design",
    ),
    "share of the site": (
        "integration/api/test_blast_radius.py",
        "test_a_share_that_is_too_large_is_found_refused_and_forced",
    ),
    "Kubernetes access": ("unit/wiring/test_clusters.py", "test_an_address_names_a_cluster"),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_thing_is_read_from_its_revision(row: str, newer: ClusterWorld) -> None:
    ROWS[row](newer)


def test_every_row_of_the_page_has_a_test() -> None:
    page = (ROOT / "docs/reference/revisions.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)[1:]
    assert rows == [row for row in rows if row in ROWS or row in ELSEWHERE]
    assert set(rows) == {*ROWS, *ELSEWHERE}
    assert all(f"def {test}(" in Path(ROOT, "tests", file).read_text("utf-8") for file, test in ELSEWHERE.values())
