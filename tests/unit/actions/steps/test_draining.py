"""Nodes are drained by looking at them, and only what a service cordoned is uncordoned (product, section 8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.actions.steps.draining import Drains
from shipyard_api.actions.steps.job_watch import Submitted
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import Node, NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.rollout.ways import Way
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.labels import SERVICE_CORDONED_KEY, Operator, Requirement
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.pods import Budget
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation
from shipyard_api.workflow.step import Act, Look
from tests.fakes.cluster_nodes import LEAVES_IN, FakeClusterNodes
from tests.fakes.provisioner import FakeProvisioner
from tests.teardown_world import pod
from tests.unit.actions.steps.instants import T0
from tests.unit.actions.steps.rollouts import begun, ended, step
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")


class Site:
    """Two nodes; a web pod on each, kept by a budget that n1's breaks for ever if ``blocked``."""

    def __init__(self, on_blocked: OnBlocked = OnBlocked.WAIT, *, blocked: bool = False) -> None:
        self.now = datetime(2026, 3, 2, tzinfo=UTC)
        self.nodes = FakeClusterNodes(lambda: self.now)
        for name in (N1, N2):
            self.nodes.add(name, pod(f"web-{name}", labels={"app": name}))
        if blocked:
            self.nodes.budgets.append(Budget("default", "web", (Requirement("app", Operator.IN, (N1,)),), 0, 1, 1, 1))
        self.drains = Drains(self.nodes, TeardownLimits(on_blocked=on_blocked))

    def drain(self) -> JobReport:
        """The report of a drain after a few looks, by a worker that remembers nothing."""
        for _ in range(3):
            report = self.drains.report(JobId("m"), (N1, N2))
            self.now += LEAVES_IN
        return report


def test_nodes_are_cordoned_and_drained() -> None:
    site = Site()
    report = site.drain()
    assert (report.state, report.ok, report.succeeded) == (JobState.ENDED, True, {N1, N2})
    assert sorted(site.nodes.changes("cordon")) == [N1, N2]
    assert all(SERVICE_CORDONED_KEY in node.labels for node in site.nodes.nodes.values())


@every_row([(2, ""), (3, ""), (4, " …")])
def test_three_drains_that_are_waited_for_are_named(number: int, more: str) -> None:
    site = Site()
    names = [NodeName(f"m{position}") for position in range(number)]
    for name in names:
        site.nodes.add(name, pod(f"web-{name}"))
    message = site.drains.report(JobId("m"), names).message
    assert [name for name in names if f"{name} " in message] == names[:3]
    assert message.endswith(more)
    assert message.count("…") == bool(more)


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
    site.drains.uncordon({N1, N2, NodeName("n3")})
    assert site.nodes.changes("uncordon") == [N1]
    assert [site.nodes.nodes[node].cordoned for node in (N1, N2)] == [False, True]


def test_without_kubernetes_and_off_the_cluster_nothing_is_drained() -> None:
    for nodes in (None, FakeClusterNodes(lambda: datetime(2026, 3, 2, tzinfo=UTC))):
        drains = Drains(nodes, TeardownLimits())
        report = drains.report(JobId("m"), (N1, N2))
        assert (report.ok, report.succeeded) == (True, {N1, N2})
        drains.uncordon(report.succeeded)


def test_nodes_are_drained_serviced_and_uncordoned_and_a_killed_worker_finds_its_drain() -> None:
    now = [T0]
    cluster, peer = FakeClusterNodes(lambda: now[0]), FakeProvisioner([Node(N1), Node(N2)])
    for name in (N1, N2):
        cluster.add(name, pod(f"web-{name}"))
    serving = replace(step(peer), way=Way.SERVICE, drains=Drains(cluster, TeardownLimits()))

    def reread(state: RolloutState) -> RolloutState:
        return serving.load_state(state.to_json())

    def act(state: RolloutState) -> tuple[RolloutState, Any]:
        decision = serving.decide(state, now[0])
        assert isinstance(decision, Act), decision
        report = serving.perform(decision.effect, Marker("m"))
        return reread(serving.fold(state, decision.effect, report, now[0]).state), decision.effect

    def polled(state: RolloutState) -> RolloutState:
        decision = serving.decide(state, now[0])
        assert isinstance(decision, Look), decision
        folded = serving.fold(state, decision.question, serving.ask(decision.question), now[0])
        now[0] += LEAVES_IN
        return reread(folded.state)

    state, drain = act(reread(begun({"a": "n1 n2"})))
    assert (serving.work(drain), drain.to_json()["service"]) == (NodeWork.TEARDOWN, True)
    again = serving.load_effect(drain.to_json())
    found = serving.find(again, Marker("m"), T0, JobAnswers())
    assert found == serving.perform(again, Marker("m"))
    for _ in range(2):
        state = polled(state)
    assert (peer.submissions, sorted(cluster.changes("cordon"))) == ([], [N1, N2])

    service = serving.decide(state, now[0]).effect
    assert service.work.operation is Operation.SERVICE_NODES
    state = reread(serving.fold(state, service, Submitted(JobId("j")), now[0]).state)
    peer.reports = lambda jobs: {job: ended(job, "n1 n2") for job in jobs}  # type: ignore[method-assign]
    cluster.break_next("node")
    with pytest.raises(Unavailable):
        polled(state)
    assert cluster.changes("uncordon") == []  # without Kubernetes the nodes are not done
    state = polled(state)
    assert sorted(cluster.changes("uncordon")) == [N1, N2]
    assert state.rollout is not None
    assert state.rollout.done
