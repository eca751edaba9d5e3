"""What forbids the teardown of servers, by the step that checks it."""

from typing import Any, cast

from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.actions.teardown_steps import TeardownSteps
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.documents import Collection, Document, RenderedDocument, Rendering, Revision
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from tests.factories import document, node
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.fakes.etcd import FakeEtcd
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.tables import every_row
from tests.world import RULES

NAMES = ("n1", "n2", "n3", "n4")
STEP = StepId("check_teardown")


def rendered(schema: str, name: str, data: dict[str, Any]) -> RenderedDocument:
    written = Document(schema, name, "site", document(schema, name, data)["metadata"], data)
    return RenderedDocument(written, Collection("design"), Revision(3), secret=False)


def steps(*, drains: bool = True) -> TeardownSteps:
    """Steps of a site of four servers with an etcd member each, one of them dead; the site wants to keep three."""
    clock = FakeClock()
    cluster, etcd = FakeClusterNodes(clock.now), FakeEtcd()
    for name in NAMES:
        cluster.add(name)
    etcd.form("etcd", *NAMES, dead=["n4"])
    access = {"name": "etcd", "endpoints": ["http://10.0.0.2:2379"], "minimum": {"members": 3, "healthy": 2}}
    rendering = Rendering(
        (
            rendered(ETCD_CLUSTERS, "etcd-clusters", {"clusters": [access]}),
            rendered(GENESIS, "genesis", {"hostname": "n0"}),
        )
    )
    provisioner = FakeProvisioner([node(name) for name in NAMES], now=clock.now)
    systems = Systems(provisioner, nodes=cluster, etcd=etcd) if drains else Systems(provisioner)
    designs = ActionDesigns(cast(Any, None), lambda _: rendering)
    return TeardownSteps(SiteChecks(cast(Any, None), designs, systems, RULES), RetryPolicy(300, 10))


@every_row(
    [
        # the servers to remove, whether by force; the findings, with the level of each
        ("n1", False, [("TeardownAllowed", Level.INFO)]),
        ("n1 n2", False, [("EtcdRemovalBlocked", Level.ERROR)]),
        ("n1 n2", True, [("EtcdRemovalBlocked", Level.WARNING)]),
        ("n4", False, [("TeardownAllowed", Level.INFO)]),
        # Each may go, as n4 is dead; together they leave less than the site wants.
        ("n1 n4", False, [("TeardownAllowed", Level.INFO), ("EtcdRemovalBlocked", Level.ERROR)]),
        ("n1 n4", True, [("TeardownAllowed", Level.INFO), ("EtcdRemovalBlocked", Level.WARNING)]),
    ]
)
def test_servers_are_removed_if_each_of_them_and_all_together_may_go(
    removed: str, force: bool, expected: list[tuple[str, Level]]
) -> None:
    nodes = tuple(map(NodeName, removed.split()))
    found = steps().check_removal(STEP, nodes, {"force": force}).ask(3)
    assert [(finding.name, finding.level) for finding in found] == expected


def test_without_a_cluster_nothing_is_drained() -> None:
    found = steps(drains=False).check_removal(STEP, (NodeName("n1"), NodeName("n2")), {}).ask(3)
    assert [(finding.name, finding.level) for finding in found] == [("ClusterNotConfigured", Level.ERROR)]
