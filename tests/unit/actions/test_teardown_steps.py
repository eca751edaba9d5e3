"""What forbids the teardown of servers, by the step that checks it."""

from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.actions.steps.teardown.part import Request
from shipyard_api.actions.teardown_steps import TeardownSteps
from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Collection, Document, RenderedDocument, Rendering, Revision
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.teardown_service import TeardownService
from tests.factories import committed, document, node
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.fakes.etcd import FakeEtcd
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.tables import every_row
from tests.world import RULES

NAMES = ("n1", "n2", "n3", "n4")
STEP = StepId("check_teardown")
SITE = SiteInputs(3, DeploymentConfiguration(), None)


def rendered(schema: str, name: str, data: dict[str, Any]) -> RenderedDocument:
    written = Document(schema, name, "site", document(schema, name, data)["metadata"], data)
    return RenderedDocument(written, Collection("design"), Revision(3), secret=False)


def steps(*, drains: bool = True) -> TeardownSteps:
    """Steps of a site of four servers with an etcd member each, one of them dead; the site wants to keep three.

    Only the newest committed design names the cluster; revision 3 is installed.
    """
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
    designs = ActionDesigns(committed(4), {3: Rendering(()), 4: rendering}.__getitem__)
    return TeardownSteps(SiteChecks(cast(Any, None), designs, systems, RULES), RetryPolicy(300, 10))


def test_what_protects_is_read_from_the_newest_committed_design() -> None:
    nodes = (NodeName("n1"), NodeName("n2"))
    site = replace(SITE, targets=nodes)
    made = steps()
    checks = [
        made.check(STEP, [nodes], ActionInputs(site=site)),
        made.check_removal(STEP, nodes, ActionInputs()),
        made.check_service(STEP, ActionInputs(site=site)),
        made.check(STEP, [(NodeName("n0"),)], ActionInputs(site=site)),
    ]
    found = [[finding.name for finding in check.ask(3) if finding.level is Level.ERROR] for check in checks]
    assert found == [["EtcdRemovalBlocked"], ["EtcdRemovalBlocked"], ["EtcdLosesQuorum"], ["GenesisNode"]]
    # Before the first commit, the revision of the action protects.
    uncommitted = replace(made, checks=replace(made.checks, designs=replace(made.checks.designs, store=committed(0))))
    assert uncommitted.protection(4).clusters == made.protection().clusters != ()
    assert uncommitted.protection.revision() is None


PART: Any = object()


@every_row(
    [
        # Promenade, Kubernetes, etcd; whether servers can be drained
        (None, None, None, False),
        (None, PART, None, False),
        (None, None, PART, False),
        (None, PART, PART, True),
        (PART, None, None, True),
    ]
)
def test_servers_are_drained_by_promenade_or_by_kubernetes_and_etcd(
    service: Any, nodes: Any, etcd: Any, drains: bool
) -> None:
    made = steps()
    systems = replace(made.checks.systems, service=service, nodes=nodes, etcd=etcd)
    assert replace(made, checks=replace(made.checks, systems=systems)).drains is drains


@every_row([(True, ["EtcdLosesQuorum"]), (False, [])])
def test_servers_that_stay_installed_are_checked_where_they_can_be_drained(drains: bool, found: list[str]) -> None:
    made = steps(drains=drains)
    ways = Ways(serviced=tuple(map(NodeName, NAMES[:1])))
    findings = made.check_interrupted(STEP, ways, ActionInputs(site=SITE)).ask(3)
    assert [finding.name for finding in findings] == found


def test_promenade_gets_the_design_that_protects() -> None:
    made, asked = steps(), []
    service = cast(TeardownService, SimpleNamespace(etcd_health=lambda design: asked.append(design) or {}))
    systems = replace(made.checks.systems, service=service, design_of="revision {}".format)
    by_promenade = replace(made, checks=replace(made.checks, systems=systems))._operations()[Operation.AWAIT_ETCD]
    by_promenade.ask(Request(Operation.AWAIT_ETCD, NodeName("n1"), ActionId("-"), 3, FakeClock().now(), "health"))
    assert asked == ["revision 4"]


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
    found = steps().check_removal(STEP, nodes, ActionInputs(force=force)).ask(3)
    assert [(finding.name, finding.level) for finding in found] == expected


def test_without_a_cluster_nothing_is_drained() -> None:
    found = steps(drains=False).check_removal(STEP, (NodeName("n1"), NodeName("n2")), ActionInputs()).ask(3)
    assert [(finding.name, finding.level) for finding in found] == [("ClusterNotConfigured", Level.ERROR)]
