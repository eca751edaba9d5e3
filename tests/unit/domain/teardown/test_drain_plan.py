"""The class of every pod (contract: promenade, 4.1; product, 6)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.teardown.drain_plan import DrainPlan, Loss, PodClass, plan_drain
from shipyard_api.domain.teardown.kubelet import Kubelet
from shipyard_api.domain.teardown.labels import NodeFit, Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget, Controller, DaemonSet, Pod, PodPhase, PodUid
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
LATER, BEFORE = NOW + timedelta(seconds=1), NOW - timedelta(seconds=1)
REPLICAS = Controller("ReplicaSet", "web-1")
APP = (Requirement("app", Operator.IN, ("web",)),)
DAEMONS = (DaemonSet("kube-system", "proxy", NodeFit()),)
NO_CONTROLLER, LOCAL_DATA = Loss


def pod(name: str = "web", **others: Any) -> Pod:
    given = {"controller": REPLICAS, "labels": {"app": "web"}, **others}
    return Pod(given.pop("namespace", "default"), name, PodUid(name), **given)


def budget(name: str = "web", *, allowed: int = 0, desired: int = 1, current: int = 2, expected: int = 2) -> Budget:
    return Budget("default", name, APP, allowed, desired, current, expected)


def plan(*pods: Pod, budgets: tuple[Budget, ...] = (), kubelet: Kubelet = Kubelet.ALIVE) -> DrainPlan:
    return plan_drain(pods, budgets, DAEMONS, now=NOW, kubelet=kubelet)


def daemon(name: str, namespace: str = "kube-system") -> Pod:
    return pod(namespace=namespace, controller=Controller("DaemonSet", name), local_data=True)


@every_row(
    {
        "evictable": (pod(), PodClass.EVICTABLE, ()),
        "mirror": (pod(mirror=True, controller=Controller("Node", "n1")), PodClass.MIRROR, ()),
        "daemon": (daemon("proxy"), PodClass.DAEMON, ()),
        "of another namespace": (daemon("proxy", "default"), PodClass.EVICTABLE, (NO_CONTROLLER, LOCAL_DATA)),
        "failed": (pod(phase=PodPhase.FAILED, local_data=True), PodClass.FINISHED, ()),
        "no controller": (pod(controller=None), PodClass.EVICTABLE, (NO_CONTROLLER,)),
        "local data": (pod(local_data=True), PodClass.EVICTABLE, (LOCAL_DATA,)),
        "leaving": (pod(leaves_at=BEFORE, phase=PodPhase.FAILED), PodClass.LEAVING, ()),
    },
)
def test_a_pod_has_one_class_and_what_is_lost_with_it(one: Pod, pod_class: PodClass, losses: tuple[Loss, ...]) -> None:
    planned = plan(one).pods[0]

    assert planned.pod_class is pod_class
    assert not losses or planned.losses == losses


@every_row(
    [
        (NOW, Kubelet.DEAD, PodClass.UNREACHABLE),
        (LATER, Kubelet.DEAD, PodClass.LEAVING),
        (NOW, Kubelet.ALIVE, PodClass.LEAVING),
        (None, Kubelet.DEAD, PodClass.EVICTABLE),
    ],
)
def test_after_its_grace_period_a_pod_of_a_dead_kubelet_is_not_waited_for(
    leaves_at: datetime | None, kubelet: Kubelet, pod_class: PodClass
) -> None:
    assert plan(pod(leaves_at=leaves_at), kubelet=kubelet).pods[0].pod_class is pod_class


# --- Budgets ----------------------------------------------------------------------------------------------------------


@every_row(
    {
        "another pod is not healthy": (pod(), (budget(current=1),), PodClass.BLOCKED_NOW),
        "allows none": (pod(), (budget(desired=2),), PodClass.BLOCKED_FOREVER),
        "another namespace": (pod(namespace="other"), (budget(desired=2),), PodClass.EVICTABLE),
        "selects nothing": (pod(), (Budget("default", "none", None, 0, 2, 2, 2),), PodClass.EVICTABLE),
        "selects all": (pod(), (Budget("default", "all", (), 0, 2, 2, 2),), PodClass.BLOCKED_FOREVER),
        "not ready, met": (pod(ready=False), (budget(desired=2, expected=3),), PodClass.EVICTABLE),
        "not ready, not met": (pod(ready=False), (budget(current=0),), PodClass.BLOCKED_NOW),
        "not ready, always spared": (
            pod(ready=False),
            (Budget("default", "web", APP, 0, 1, 0, 2, spares_unready=True),),
            PodClass.EVICTABLE,
        ),
        "status of an older version": (
            pod(),
            (Budget("default", "web", APP, 1, 2, 2, 2, current_status=False),),
            PodClass.BLOCKED_NOW,
        ),
    },
)
def test_a_budget_decides_as_the_api_server_would(one: Pod, budgets: tuple[Budget, ...], pod_class: PodClass) -> None:
    assert plan(one, budgets=budgets).pods[0].pod_class is pod_class


def test_a_budget_lets_as_many_go_as_it_allows_and_those_first_that_lose_nothing() -> None:
    pods = [pod("a", local_data=True), pod("b"), pod("c"), pod("d", ready=False)]

    found = plan(*pods, budgets=(budget(allowed=2, desired=2, current=4, expected=4),))

    assert {one.pod.name: one.pod_class for one in found.pods} == {
        "b": PodClass.EVICTABLE,
        "c": PodClass.EVICTABLE,
        "d": PodClass.EVICTABLE,
        "a": PodClass.BLOCKED_NOW,
    }


def test_a_blocked_pod_names_its_budgets_its_numbers_and_whether_waiting_helps() -> None:
    now, forever, two = (
        plan(pod(), budgets=budgets).pods[0]
        for budgets in ((budget(current=1),), (budget(desired=2),), (budget("b"), budget("a")))
    )

    assert now.why == "budget default/web allows no disruption now (healthy pods: 1, needed: 1, expected: 2)"
    assert forever.why == (
        "budget default/web allows no disruption at all (healthy pods: 2, needed: 2, expected: 2): "
        "this will not end by itself"
    )
    assert two.budgets == ("default/a", "default/b")
    assert two.why.endswith("this will not end by itself")


def test_a_budget_with_more_healthy_pods_than_it_needs_says_why_it_blocks() -> None:
    changed = plan(pod(), budgets=(replace(budget(allowed=1), current_status=False),)).pods[0]
    *_, last = plan(pod("a"), pod("b"), budgets=(budget(allowed=1, desired=9, current=10, expected=11),)).pods

    assert changed.why == (
        "budget default/web has changed, and Kubernetes has yet to count its pods again "
        "(healthy pods: 2, needed: 1, expected: 2)"
    )
    assert last.why == (
        "budget default/web allows 1 more now, which other pods of this node take first "
        "(healthy pods: 10, needed: 9, expected: 11)"
    )


# --- Order ------------------------------------------------------------------------------------------------------------


def test_evictions_begin_with_pods_that_nothing_is_lost_with_and_try_blocked_ones_last() -> None:
    free = {"labels": {}}
    pods = [
        pod("blocked"),
        pod("bare", controller=None, local_data=True, **free),
        pod("data", local_data=True, **free),
        pod("plain", **free),
        pod("done", phase=PodPhase.SUCCEEDED),
        pod("mirror", mirror=True),
        pod("leaving", leaves_at=LATER),
    ]

    found = plan(*pods, budgets=(budget(desired=2),))

    assert [one.pod.name for one in found.to_evict] == ["done", "plain", "data", "bare", "blocked"]
    assert {one.pod.name for one in found.left} == {one.name for one in pods} - {"mirror"}


@every_row(
    {
        "the budget wants none": ({"desired": 0, "current": 2, "allowed": 2}, ["free", "odd"]),
        "and lets one go now": ({"desired": 0, "current": 2, "allowed": 1}, ["free", "odd"]),
        "the budget is met": ({"desired": 1, "current": 2, "allowed": 1}, ["a", "free", "odd", "b"]),
        "the budget lets none go": ({"desired": 0, "current": 2, "allowed": 0}, ["free", "a", "b", "odd"]),
    },
)
def test_healthy_pods_wait_for_those_of_their_budget_that_are_not_ready(now: dict[str, int], names: list[str]) -> None:
    odd = pod("odd", ready=False, local_data=True)  # healthy pods that lose nothing would go before it
    found = plan(pod("a"), pod("b"), odd, pod("free", labels={}), budgets=(budget(expected=3, **now),))
    assert [one.pod.name for one in found.to_evict] == names
    evictable = {one.pod.name for one in found.of({PodClass.EVICTABLE})}
    assert ("odd" in evictable) is bool(now["allowed"])
    assert len(evictable & {"a", "b"}) == now["allowed"]


def test_a_planned_pod_is_shown_as_json_and_as_a_sentence() -> None:
    planned = plan(pod(controller=None, local_data=True, volumes=("data-0",))).pods[0]

    assert json.loads(json.dumps(planned.to_json())) == {
        "namespace": "default",
        "name": "web",
        "uid": "web",
        "phase": "Running",
        "controller": None,
        "class": "evictable",
        "losses": ["no-controller", "local-data"],
        "budgets": [],
        "volumes": ["data-0"],
        "message": "",
    }
    assert str(planned) == (
        "default/web (evictable): it has no controller and will not come back; the data in its emptyDir volumes is lost"
    )


def test_a_pod_that_a_finalizer_keeps_names_it() -> None:
    pod = Pod("default", "kept", PodUid("kept"), leaves_at=NOW, finalizers=("example.com/backup",))
    (planned,) = plan_drain([pod], [], [], now=NOW).left
    assert planned.pod_class is PodClass.LEAVING
    assert planned.why.endswith("finalizers keep it until their controllers remove them: example.com/backup")
