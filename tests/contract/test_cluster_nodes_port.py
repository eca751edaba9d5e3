"""What every cluster promises a teardown, asked of each one (ports/cluster.py); the test plays the kubelets."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain_plan import Loss, PodClass
from shipyard_api.domain.teardown.kubelet import Ready
from shipyard_api.domain.teardown.labels import to_clear
from shipyard_api.domain.teardown.pods import Controller
from shipyard_api.ports.cluster import ClusterNode, Eviction, EvictionOutcome, KubeletStopper, NodeDeletion
from tests.contract.cluster_node_sites import RBAC, SITES, STOPPER, NodeSite, manifests
from tests.waiting import until

ACCEPTED = Eviction(EvictionOutcome.ACCEPTED)


# Budgets differ between versions; what all versions do alike is played on the newest one.
EVERY_VERSION = pytest.mark.parametrize("site", SITES, indirect=True)


@pytest.fixture(params=[name for name in SITES if name != "simulator-1.20"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NodeSite]:
    """A cluster with a namespace of its own."""
    with ExitStack() as cleanup:
        yield SITES[request.param](cleanup, tmp_path)


def read(site: NodeSite, node: NodeName) -> ClusterNode:
    found = site.nodes.node(node)
    assert found is not None
    return found


def classes(site: NodeSite, node: NodeName) -> dict[str, PodClass]:
    return {planned.pod.name: planned.pod_class for planned in site.plan(node).pods}


def evict(site: NodeSite, node: NodeName, *names: str, grace: int = 30) -> dict[str, Eviction]:
    """Evict pods of a node by their names, as they are now."""
    pods = {pod.name: pod for pod in site.look(node).pods}
    answers = site.nodes.evict([pods[name] for name in names], grace=grace)
    return {name: answers[pods[name].uid] for name in names}


def test_a_node_is_read_with_its_lease_by_its_name_or_hostname(site: NodeSite) -> None:
    host = site.name("host")
    node = site.add_node("n1.example.org", labels={"rack": "r1", "kubernetes.io/hostname": host})
    assert read(site, node).renewed_at is None
    renewed = datetime.now(UTC) - timedelta(seconds=90)
    site.add_lease(node, renewed)
    found = read(site, NodeName(node.upper()))
    assert (found.name, found.cordoned, found.ready, found.renewed_at) == (node, False, Ready.TRUE, renewed)
    assert (found.labels["rack"], found.addresses) == ("r1", ("192.0.2.1", node))
    assert read(site, host).name == node
    assert site.nodes.look(site.name("none")) is None
    assert site.nodes.node(site.name("none")) is None
    # Nor does a name that is no name lead to another address.
    assert [site.nodes.node(NodeName(name)) for name in ("..", ".", "", "a b", "a/b", "x" * 254)] == [None] * 6


def test_a_cordoned_node_stays_cordoned_and_its_label_goes_with_the_cordon(site: NodeSite) -> None:
    plain, node = site.add_node("n1"), site.add_node("n2", labels={"rack": "r1"})
    before = read(site, plain)
    for _ in range(2):
        site.nodes.cordon(before)
        assert read(site, plain).cordoned
    site.nodes.cordon(read(site, node), label="ours")
    held = read(site, node)
    assert (held.cordoned, "ours" in held.labels) == (True, True)
    for _ in range(2):
        site.nodes.uncordon(held, label="ours")
        after = read(site, node)
        assert (after.cordoned, "ours" in after.labels, after.labels["rack"]) == (False, False, "r1")


def test_a_new_node_of_the_name_is_left_alone(site: NodeSite) -> None:
    node = site.add_node("n1", labels={"rack": "r1"})
    before = read(site, node)
    site.call("DELETE", f"api/v1/nodes/{node}")
    assert site.nodes.delete_node(before) is NodeDeletion.GONE
    site.nodes.cordon(before)
    assert not site.nodes.remove_labels(before, ["rack"])
    site.add_node("n1", labels={"rack": "r1"})
    site.nodes.cordon(before)
    assert not site.nodes.remove_labels(before, ["rack"])
    assert site.nodes.delete_node(before) is NodeDeletion.ANOTHER_NODE
    after = read(site, node)
    assert (after.cordoned, after.labels["rack"]) == (False, "r1")
    assert site.nodes.delete_node(after) is NodeDeletion.ACCEPTED
    until(lambda: site.nodes.node(node) is None)


def test_labels_are_changed_only_on_the_node_that_was_read(site: NodeSite) -> None:
    node = site.add_node("n1", labels={"rack": "r1", "node.kubernetes.io/kept": "x", "example.org/role": "a"})
    before = read(site, node)
    keys = to_clear(before.labels)
    assert keys == ("example.org/role", "rack")
    assert site.nodes.remove_labels(before, keys)
    after = read(site, node)
    assert (to_clear(after.labels), after.labels["node.kubernetes.io/kept"]) == ((), "x")
    assert not site.nodes.set_labels(before, {"promenade-decomission": "enabled"})
    assert site.nodes.set_labels(after, {"promenade-decomission": "enabled"})
    assert read(site, node).labels["promenade-decomission"] == "enabled"


@EVERY_VERSION
def test_the_pods_of_a_node_are_classed(site: NodeSite) -> None:
    node, other = site.add_node("n1"), site.add_node("n2")
    site.add_daemon_set("agent", node)
    site.add_daemon_set("gone", node)
    site.remove_daemon_set("gone")
    site.add_pod(node, "static", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    site.add_pod(node, "done", phase="Succeeded", ready=False)
    claim = {"name": "c", "persistentVolumeClaim": {"claimName": "data"}}
    site.add_pod(node, "plain", volumes=[{"name": "v", "emptyDir": {}}, claim])
    site.add_pod(node, "leaving")
    site.add_pod(other, "elsewhere")
    assert evict(site, node, "leaving") == {"leaving": ACCEPTED}
    planned = {one.pod.name.removesuffix("-1"): one for one in site.plan(node).pods}
    assert {name: one.pod_class for name, one in planned.items()} == {
        "static": PodClass.MIRROR,
        "agent": PodClass.DAEMON,
        "leaving": PodClass.LEAVING,
        "done": PodClass.FINISHED,
        "gone": PodClass.EVICTABLE,
        "plain": PodClass.EVICTABLE,
    }
    assert planned["plain"].losses == (Loss.NO_CONTROLLER, Loss.LOCAL_DATA)
    assert planned["plain"].pod.volumes == ("data",)
    assert planned["gone"].pod.controller == Controller("DaemonSet", "gone")
    leaves_at, now = planned["leaving"].pod.leaves_at, site.look(node).server_time
    assert leaves_at is not None
    assert timedelta(0) < leaves_at - now <= timedelta(seconds=31)


@EVERY_VERSION
def test_a_budget_that_allows_one_blocks_the_other_until_it_is_replaced(site: NodeSite) -> None:
    node, other = site.add_node("n1"), site.add_node("n2")
    for name in ("a", "b"):
        site.add_pod(node, name, labels={"app": "web"})
    site.add_budget("web", minAvailable=1)
    site.count_budget("web", expected=2, current=2)
    assert classes(site, node) == {"a": PodClass.EVICTABLE, "b": PodClass.BLOCKED_NOW}
    assert evict(site, node, "a") == {"a": ACCEPTED}
    blocked = evict(site, node, "b")["b"]
    assert blocked.outcome is EvictionOutcome.BLOCKED
    assert "web needs 1 healthy pods and has 1 currently" in blocked.message
    site.end_pod("a")
    site.add_pod(other, "c", labels={"app": "web"})
    site.count_budget("web", expected=2, current=2)
    assert classes(site, node) == {"b": PodClass.EVICTABLE}
    assert evict(site, node, "b") == {"b": ACCEPTED}
    assert classes(site, node) == {"b": PodClass.LEAVING}


@EVERY_VERSION
def test_a_budget_that_wants_none_lets_a_pod_go_that_is_not_ready_before_its_last_healthy_pod(site: NodeSite) -> None:
    node = site.add_node("n1")
    for name in ("a", "b"):
        site.add_pod(node, name, labels={"app": "web"})
    site.add_pod(node, "odd", labels={"app": "web"}, ready=False, volumes=[{"name": "v", "emptyDir": {}}])
    site.add_budget("web", minAvailable=0)
    site.count_budget("web", expected=3, current=2)
    assert classes(site, node) == dict.fromkeys(("a", "b", "odd"), PodClass.EVICTABLE)

    def have_all_left() -> bool:
        if pods := [planned.pod for planned in site.plan(node).to_evict]:
            site.nodes.evict(pods, grace=30)
        return set(classes(site, node).values()) <= {PodClass.LEAVING}

    until(have_all_left, lambda: site.plan(node))


@EVERY_VERSION
def test_a_budget_that_allows_none_is_named_and_two_budgets_never_let_a_pod_go(site: NodeSite) -> None:
    node = site.add_node("n1")
    site.add_pod(node, "a", labels={"app": "db"})
    site.add_pod(node, "b", labels={"app": "one", "tier": "two"})
    site.add_budget("db", minAvailable=1)
    site.add_budget("one", minAvailable=0)
    site.add_budget("two", minAvailable=0, selector={"matchLabels": {"tier": "two"}})
    for name in ("db", "one", "two"):
        site.count_budget(name, expected=1, current=1)
    planned = {one.pod.name: one for one in site.plan(node).pods}
    assert {name: one.pod_class for name, one in planned.items()} == dict.fromkeys("ab", PodClass.BLOCKED_FOREVER)
    assert f"budget {site.space}/db allows no disruption at all" in planned["a"].why
    assert "will not end by itself" in planned["a"].why
    answers = evict(site, node, "a", "b")
    assert {name: one.outcome for name, one in answers.items()} == {
        "a": EvictionOutcome.BLOCKED,
        "b": EvictionOutcome.NEVER,
    }
    for _ in range(2):
        site.nodes.delete_pods([planned["a"].pod], grace=0)
    assert [pod.name for pod in site.look(node).pods] == ["b"]


UNCOUNTED: dict[str, tuple[dict[str, Any], PodClass, EvictionOutcome]] = {
    "finished": ({"phase": "Failed", "ready": False}, PodClass.FINISHED, EvictionOutcome.ACCEPTED),
    "pending": ({"phase": "Pending", "ready": False}, PodClass.EVICTABLE, EvictionOutcome.ACCEPTED),
    "not ready": ({"ready": False}, PodClass.EVICTABLE, EvictionOutcome.ACCEPTED),
    "ready": ({}, PodClass.BLOCKED_NOW, EvictionOutcome.BLOCKED),
}


@EVERY_VERSION
def test_a_pod_that_is_no_disruption_is_evicted_past_a_budget_that_is_just_met(site: NodeSite) -> None:
    node, other = site.add_node("n1"), site.add_node("n2")
    for at, (pod, _, _) in enumerate(UNCOUNTED.values()):
        web, ready = f"web{at}", 1 + pod.get("ready", True)
        site.add_pod(node, f"a{at}", labels={"app": web}, **pod)
        site.add_pod(other, f"b{at}", labels={"app": web})
        site.add_pod(other, f"c{at}", labels={"app": web}, ready=False)
        site.add_budget(web, minAvailable=ready)
        site.count_budget(web, expected=3, current=ready)
    expected = [(planned, outcome) for _, planned, outcome in UNCOUNTED.values()]
    planned = classes(site, node)
    outcomes = evict(site, node, *planned)
    assert [(planned[f"a{at}"], outcomes[f"a{at}"].outcome) for at in range(4)] == expected


@EVERY_VERSION
def test_an_empty_selector_selects_every_pod_but_none_in_v1beta1(site: NodeSite) -> None:
    node = site.add_node("n1")
    site.add_pod(node, "a")
    site.add_budget("all", minAvailable=1, selector={})
    is_old = all(budget.selector is None for budget in site.look(node).budgets if budget.name == "all")
    if not is_old:
        site.count_budget("all", expected=1, current=1)
    assert classes(site, node) == {"a": PodClass.EVICTABLE if is_old else PodClass.BLOCKED_FOREVER}
    wanted = EvictionOutcome.ACCEPTED if is_old else EvictionOutcome.BLOCKED
    assert evict(site, node, "a")["a"].outcome is wanted


def test_a_pod_that_has_gone_or_was_replaced_is_gone(site: NodeSite) -> None:
    node = site.add_node("n1")
    site.add_pod(node, "a")
    site.add_pod(node, "b")
    a, b = site.look(node).pods
    site.end_pod("a")
    site.end_pod("b")
    site.add_pod(node, "b")
    found = site.nodes.evict([a, b], grace=30)
    assert {one.outcome for one in found.values()} == {EvictionOutcome.GONE}
    site.nodes.delete_pods([a, b], grace=0)
    assert [pod.leaves_at for pod in site.look(node).pods] == [None]


def test_pods_of_a_namespace_that_is_being_deleted_end_with_it(site: NodeSite) -> None:
    node, space = site.add_node("n1"), site.add_namespace("-ends")
    site.add_pod(node, "a", space=space)
    [pod] = site.look(node).pods
    site.end_namespace(space)
    until(lambda: all(one.leaves_at for one in site.look(node).pods))
    found = site.nodes.evict([pod], grace=30)[pod.uid]
    assert found.outcome is EvictionOutcome.ENDING_WITH_NAMESPACE
    assert "terminated" in found.message
    site.end_pod("a", space=space)


def test_the_kubelet_stopper_is_found_by_its_node_selector(site: NodeSite) -> None:
    node = site.add_node("n1")
    site.add_daemon_set("other", node)
    found = site.nodes.kubelet_stopper(node)
    assert found is None or found.namespace != site.space
    site.add_daemon_set("a-stopper", nodeSelector={"promenade-decomission": "enabled"})
    assert site.nodes.kubelet_stopper(node) == KubeletStopper(site.space, "a-stopper")
    site.remove_daemon_set("a-stopper")
    site.add_daemon_set("stopper", node, nodeSelector={"promenade-decomission": "enabled"})
    assert site.nodes.kubelet_stopper(node) == KubeletStopper(site.space, "stopper", "Running")


def test_a_node_with_many_pods_is_read_in_pages_with_the_daemon_sets_that_want_it(site: NodeSite) -> None:
    node = site.add_node("n1", labels={"role": "a"})
    for number in range(7):
        site.add_pod(node, f"p{number}")
    site.add_daemon_set("agent", nodeSelector={"role": "a"})
    look = site.look(node)
    assert {pod.name for pod in look.pods} == {f"p{number}" for number in range(7)}
    [agent] = [one for one in look.daemon_sets if one.namespace == site.space]
    assert agent.wants.fits(look.node.name, look.node.labels)
    assert not agent.wants.fits(look.node.name, {})


# The real API server alone


@pytest.fixture
def real(tmp_path: Path) -> Iterator[NodeSite]:
    """A real API server; skipped without one."""
    with ExitStack() as cleanup:
        yield SITES["real-kubernetes"](cleanup, tmp_path)


def test_a_real_server_evicts_a_thousand_pods_as_the_plan_classes_them(real: NodeSite) -> None:
    chance = random.Random(13)  # repeatable
    node, budgets = real.add_node("n1"), 50
    real.add_daemon_set("agent")
    per_budget: Counter[int] = Counter()

    def parts(number: int) -> dict[str, Any]:
        budget = chance.randrange(budgets + 5)  # some have none
        labels = {"app": f"b{budget}"} | ({"tier": "x"} if budget < 2 and chance.random() < 0.3 else {})
        kind = chance.random()
        state: dict[str, Any] = {}
        if budget % 5 == 0:
            pass  # every pod is counted, so that such a budget may allow none for good
        elif kind < 0.05:
            state = {"phase": "Succeeded", "ready": False}
        elif kind < 0.1:
            state = {"phase": "Pending", "ready": False}
        elif kind < 0.2:
            state = {"ready": False}
        elif kind < 0.25:
            state = {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}
        per_budget[budget] += state.get("ready", True)
        volumes = [{"name": "v", "emptyDir": {}}] if chance.random() < 0.3 else []
        return {"name": f"p{number}", "labels": labels, "volumes": volumes, **state}

    pods = [parts(number) for number in range(1000)]
    in_parallel(lambda given: real.add_pod(node, **given), pods)
    for number in range(budgets - 1):
        least = max(0, per_budget[number] - chance.choice((0, 1, 5, 10, 50)))
        real.add_budget(f"b{number}", minAvailable=least)
    real.add_budget("tier", minAvailable=1, selector={"matchLabels": {"tier": "x"}})
    total = Counter(pod["labels"]["app"] for pod in pods)
    for number in range(budgets - 1):
        real.count_budget(f"b{number}", expected=total[f"b{number}"], current=per_budget[number])

    plan = real.plan(node)
    answers: dict[str, EvictionOutcome] = {}
    accepted = EvictionOutcome.ACCEPTED

    def evict_all(classes: set[PodClass], *, until_accepted: bool) -> None:
        pods = {planned.pod.uid for planned in plan.of(classes)}

        def is_answered() -> bool:
            left = pods - {uid for uid, outcome in answers.items() if not until_accepted or outcome is accepted}
            if ready := [one.pod for one in real.plan(node).to_evict if one.pod.uid in left]:
                answers.update({uid: one.outcome for uid, one in real.nodes.evict(ready, grace=30).items()})
            return not left

        until(is_answered, lambda: [one for one in real.plan(node).pods if one.pod.uid in pods], every=1.0)

    # The API server and the controller that counts pods write the same budget, which for a moment then allows none
    # ("needs 0 healthy pods and has 11 currently"): a drain asks again. The others must not take their place meanwhile.
    evict_all({PodClass.FINISHED, PodClass.EVICTABLE}, until_accepted=True)
    evict_all({PodClass.BLOCKED_NOW, PodClass.BLOCKED_FOREVER}, until_accepted=False)
    expected = {
        PodClass.FINISHED: {accepted},
        PodClass.EVICTABLE: {accepted},
        PodClass.BLOCKED_NOW: {EvictionOutcome.BLOCKED},
        PodClass.BLOCKED_FOREVER: {EvictionOutcome.BLOCKED, EvictionOutcome.NEVER},
    }
    untouched = {pod.uid for pod in real.look(node).pods if pod.leaves_at is None}
    differing = [
        (planned.pod_class, planned.pod.labels, outcome)
        for planned in plan.pods
        if (outcome := answers.get(planned.pod.uid)) not in expected.get(planned.pod_class, {None})
        or (outcome is None and planned.pod.uid not in untouched)
    ]
    assert (len(plan.pods), differing) == (1000, [])


def in_parallel(do: Callable[[Any], object], items: list[Any]) -> None:
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(do, items):
            pass


def test_a_real_server_accepts_the_manifests_and_allows_our_calls_alone(real: NodeSite) -> None:
    for manifest in (*manifests(RBAC), *manifests(STOPPER)):
        real.check_manifest(manifest)
    allowed = [("list", "", "nodes", ""), ("create", "", "pods/eviction", real.space), ("delete", "", "nodes", "")]
    allowed += [
        ("list", "policy", "poddisruptionbudgets", ""),
        ("get", "coordination.k8s.io", "leases", "kube-node-lease"),
    ]
    denied = [("list", "", "secrets", ""), ("create", "", "pods", real.space), ("get", "", "pods", real.space)]
    denied += [
        ("update", "", "nodes", ""),
        ("patch", "", "nodes/status", ""),
        ("delete", "apps", "daemonsets", real.space),
    ]
    denied += [("get", "coordination.k8s.io", "leases", "kube-system"), ("list", "", "namespaces", "")]
    assert [right for right in allowed if not real.may(*right)] == []
    assert [right for right in denied if real.may(*right)] == []
