"""When a node counts as empty, and when its labels have settled (seed 004; contract: promenade, 4.2 and 4.5)."""

from datetime import UTC, datetime

from shipyard_api.domain.teardown.drain_plan import DrainPlan, PlannedPod, PodClass
from shipyard_api.domain.teardown.kubelet import Kubelet
from shipyard_api.domain.teardown.labels import NodeFit, Operator, Requirement
from shipyard_api.domain.teardown.pods import Controller, DaemonSet, Pod, PodUid
from shipyard_api.domain.teardown.removal_checks import check_removal, unsettled
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def plan(*classes: PodClass) -> DrainPlan:
    return DrainPlan(tuple(PlannedPod(Pod("default", one.value, PodUid(one.value)), one) for one in classes))


@every_row(
    [
        (PodClass.MIRROR, Kubelet.ALIVE, True),
        (PodClass.FINISHED, Kubelet.ALIVE, True),
        (PodClass.UNREACHABLE, Kubelet.DEAD, True),
        (PodClass.LEAVING, Kubelet.DEAD, True),
        (PodClass.LEAVING, Kubelet.ALIVE, False),
        (PodClass.EVICTABLE, Kubelet.DEAD, False),
        (PodClass.BLOCKED_NOW, Kubelet.ALIVE, False),
    ],
)
def test_a_drained_node_may_still_have_some_pods(pod_class: PodClass, kubelet: Kubelet, may_stay: bool) -> None:
    found = check_removal({}, plan(pod_class), cordoned=True, kubelet=kubelet)

    assert [finding.name for finding in found] == ([] if may_stay else ["NodeHasPods"])


def test_everything_that_forbids_a_removal_is_reported_together() -> None:
    pods = DrainPlan(tuple(plan(PodClass.EVICTABLE).pods[0] for _ in range(12)))

    found = check_removal({"rack": "r1"}, pods, cordoned=False, kubelet=Kubelet.ALIVE)

    assert [finding.name for finding in found] == ["NodeNotCordoned", "NodeHasPods", "NodeHasLabels"]
    assert "12 pod(s)" in found[1].message
    assert "and 2 more" in found[1].message


def test_a_node_has_settled_once_no_pod_is_leaving_or_unwanted() -> None:
    labelled = NodeFit((Requirement("kubernetes-etcd", Operator.EXISTS),))
    sets = (DaemonSet("kube-system", "anchor", labelled), DaemonSet("kube-system", "proxy", NodeFit()))

    def pod(name: str, kind: str = "DaemonSet", leaves_at: datetime | None = None) -> Pod:
        return Pod("kube-system", name, PodUid(name), controller=Controller(kind, name), leaves_at=leaves_at)

    anchor, proxy, leaving = pod("anchor"), pod("proxy"), pod("web", "ReplicaSet", NOW)
    others = [pod("web-2", "ReplicaSet"), pod("without-a-set"), Pod("kube-system", "bare", PodUid("bare"))]

    assert unsettled("n1", {}, [anchor, proxy, leaving, *others], sets) == (anchor, leaving)
    assert unsettled("n1", {"kubernetes-etcd": "enabled"}, [anchor, proxy], sets) == ()
