"""Nodes are drained by looking at them, and only what a service cordoned is uncordoned (product, section 8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from shipyard_api.actions.steps.draining import DrainingProvisioner
from shipyard_api.domain.nodes import Node, NodeName
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.label_requirements import Operator, Requirement
from shipyard_api.domain.teardown.labels import SERVICE_CORDONED_KEY
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.pods import Budget
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation, Work
from tests.fakes.cluster_nodes import LEAVES_IN, FakeClusterNodes
from tests.fakes.provisioner import FakeProvisioner
from tests.teardown_world import pod
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")
DRAIN = Work(Operation.DRAIN_NODES, "design", (N1, N2))


class Site:
    """Two nodes; a web pod on each, kept by a budget that n1's breaks for ever if ``blocked``."""

    def __init__(self, on_blocked: OnBlocked = OnBlocked.WAIT, *, blocked: bool = False) -> None:
        self.now = datetime(2026, 3, 2, tzinfo=UTC)
        self.nodes = FakeClusterNodes(lambda: self.now)
        for name in (N1, N2):
            self.nodes.add(name, pod(f"web-{name}", labels={"app": name}))
        if blocked:
            self.nodes.budgets.append(Budget("default", "web", (Requirement("app", Operator.IN, (N1,)),), 0, 1, 1, 1))
        limits = TeardownLimits(on_blocked=on_blocked)
        self.peer = FakeProvisioner()
        self.provisioner = DrainingProvisioner(self.peer, self.nodes, limits)

    def drain(self) -> JobReport:
        """The report of a drain after a few looks, by a worker that remembers nothing."""
        job = self.provisioner.submit(Marker("m"), DRAIN)
        assert self.provisioner.find(Marker("m"), DRAIN, intended_at=self.now) == job
        for _ in range(3):
            report = self.provisioner.report(job, DRAIN)
            self.now += LEAVES_IN
        return report


def test_nodes_are_cordoned_and_drained() -> None:
    site = Site()
    report = site.drain()
    assert (report.state, report.ok, report.succeeded) == (JobState.ENDED, True, {N1, N2})
    assert sorted(site.nodes.changes("cordon")) == [N1, N2]
    assert all(SERVICE_CORDONED_KEY in node.labels for node in site.nodes.nodes.values())


@every_row(
    [
        (OnBlocked.WAIT, JobState.RUNNING, frozenset(), False),
        (OnBlocked.FAIL, JobState.ENDED, {N1}, False),
        (OnBlocked.DELETE, JobState.ENDED, frozenset(), True),
    ],
)
def test_a_pod_that_a_budget_keeps_is_waited_for_failed_or_deleted(
    on_blocked: OnBlocked, state: JobState, failed: frozenset[NodeName], deleted: bool
) -> None:
    site = Site(on_blocked, blocked=True)
    report = site.drain()
    assert (report.state, report.failed, bool(site.nodes.changes("delete"))) == (state, failed, deleted)
    assert deleted or "web-n1" in report.reasons[N1]
    assert report.message.startswith("n1 not drained: default/web-n1") == (state is JobState.RUNNING)
    assert N2 in report.succeeded


def test_a_node_that_an_operator_had_cordoned_stays_so() -> None:
    site = Site()
    site.nodes.cordon(site.nodes.nodes[N2])
    site.drain()
    work = replace(DRAIN, operation=Operation.PREPARE_NODES)  # whatever the provisioner did well
    peer = FakeProvisioner([Node(N1), Node(N2)])
    provisioner = DrainingProvisioner(peer, site.nodes, TeardownLimits())
    provisioner.report(provisioner.submit(Marker("m"), work), work)
    assert site.nodes.changes("uncordon") == [N1]
    assert [site.nodes.nodes[node].cordoned for node in (N1, N2)] == [False, True]


def test_without_kubernetes_and_off_the_cluster_nothing_is_drained() -> None:
    for nodes in (None, FakeClusterNodes(lambda: datetime(2026, 3, 2, tzinfo=UTC))):
        report = DrainingProvisioner(FakeProvisioner(), nodes, TeardownLimits()).report(JobId("m"), DRAIN)
        assert (report.ok, report.succeeded) == (True, {N1, N2})


def test_a_service_needs_a_healthy_provisioner() -> None:
    site = Site()
    site.provisioner.check_health()
    site.peer.break_next("check_health")
    with pytest.raises(Unavailable):
        site.provisioner.check_health()
