"""What every cluster promises, asked of each one (ports/cluster.py); and what no answer at all means."""

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_simulators.kubernetes import simulator as kubernetes_simulator
from shipyard_simulators.scenario import parse_scenario
from tests.contract.cluster_sites import PAGE, READY, SITES, Site, condition
from tests.peer import Answer, Peer, running

NOT_YET = condition("Ready", "False", "KubeletNotReady", "container runtime network not ready")
SILENT = condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
NO_PRESSURE = condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "enough of it")
NETWORK = condition("NetworkUnavailable", "False", "CalicoIsUp", "it is up")
PRESSURE = condition("DiskPressure", "True", "KubeletHasDiskPressure", "the disk is full")
TOKEN = "s3cret-token-of-the-operator"


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A cluster without any node of ours."""
    with ExitStack() as cleanup:
        yield SITES[request.param](cleanup, tmp_path)


def one(site: Site, node: NodeName) -> ObservedMember:
    answer = site.cluster.readiness([node])
    assert set(answer) == {node}
    return answer[node]


STANDING: dict[str, tuple[tuple[dict[str, str], ...], bool, str]] = {
    "ready": ((NO_PRESSURE, READY), True, ""),
    "not-yet": ((NO_PRESSURE, NOT_YET), False, f"{NOT_YET['reason']}: {NOT_YET['message']}"),
    "silent": ((NO_PRESSURE, SILENT), False, f"{SILENT['reason']}: {SILENT['message']}"),
    "first-of-all": ((READY, NO_PRESSURE, NETWORK), True, ""),
    "in-the-middle": ((NO_PRESSURE, READY, NETWORK, NO_PRESSURE), True, ""),
    "under-pressure": ((NO_PRESSURE, READY, PRESSURE), True, ""),
    "last-is-true": ((NO_PRESSURE, NOT_YET, PRESSURE), False, f"{NOT_YET['reason']}: {NOT_YET['message']}"),
}


def test_a_node_is_ready_or_says_why_wherever_its_condition_stands(site: Site) -> None:
    assert site.cluster.name in ("Fake", "Kubernetes")
    assert dict(site.cluster.readiness([])) == {}
    nodes = {site.add(title, *conditions): (ready, why) for title, (conditions, ready, why) in STANDING.items()}
    silent, absent = site.add("unreported"), site.name("n9")
    found = site.cluster.readiness([*nodes, silent, absent])
    assert set(found) == {*nodes, silent, absent}
    assert {name: (found[name].ready, found[name].why) for name in nodes} == nodes
    assert {(found[name].joined, found[name].cordoned) for name in nodes} == {(True, False)}
    assert (found[silent].ready, bool(found[silent].why)) == (False, True)
    assert found[absent] == ObservedMember(ready=False, why="not in the cluster", joined=False)


def test_a_node_that_is_being_deleted_is_not_ready(site: Site) -> None:
    name = site.add("n1", READY)
    site.hold_and_delete("n1")
    found = one(site, name)
    assert not found.ready
    assert "being deleted" in found.why


def test_a_node_is_found_by_its_name_in_lower_case_and_by_its_hostname(site: Site) -> None:
    assert one(site, NodeName(site.add("n1", READY).upper())).ready
    assert one(site, site.add("n2.rack-1.example.org", READY, hostname="n2")).ready


def test_exactly_the_nodes_that_were_asked_for_are_found_on_all_pages(site: Site) -> None:
    names = [site.add(f"n{number}", READY if number % 2 else NOT_YET) for number in range(2 * PAGE + 1)]
    for _ in range(2):  # asking changes nothing
        answer = site.cluster.readiness(names[1:])
        assert set(answer) == set(names[1:])
        assert [answer[name].ready for name in names[1:]] == [bool(number % 2) for number in range(1, 2 * PAGE + 1)]


# The simulator's faults


def test_a_cluster_that_fails_at_times_is_asked_again() -> None:
    faults = [{"status": 500, "first": 1}, {"action": "drop", "first": 1}]
    service = [{"method": "GET", "path": "/nodes", **fault} for fault in faults]
    with kubernetes_simulator.running(parse_scenario(yaml.safe_dump({"service": service}))) as simulator:
        simulator.join("n1")
        client = KubernetesClient(Address(simulator.url), first_pause=0.0)
        with contextlib.closing(client):
            assert KubernetesCluster(client).readiness([NodeName("n1")])[NodeName("n1")].why != "not in the cluster"


# What no answer means: of the adapter alone, as neither the simulator nor a real API server ever says it.

LIST: dict[str, Any] = {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
STATUS: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no"}
HTML = Answer(200, "<html><body>Welcome</body></html>", {"Content-Type": "text/html"})
WRONG = {
    "a body cut short": Answer(200, LIST, cut=9),
    "half of a list, whole on the wire": Answer(200, '{"kind": "NodeList", "items": ['),
    "a page for people": HTML,
    "a status with success": Answer(200, STATUS),
    "a list of something else": Answer(200, {**LIST, "kind": "PodList"}),
    "items that are no list": Answer(200, {**LIST, "items": {"n1": {}}}),
    "no object": Answer(200, [LIST]),
    "nothing": Answer(200, b""),
    "bytes of no text": Answer(200, b"\xff\xfe\x00"),
    "no content": Answer(204),
    "another place": Answer(302, b"", {"Location": "https://login.example.org/"}),
    "an internal error": Answer(500, STATUS),
    "a gateway's page": Answer(502, "<html>Bad Gateway</html>", {"Content-Type": "text/html"}),
    "no service": Answer(503, STATUS),
    "a timeout of the server": Answer(408, STATUS),
}
REFUSED = {401: "Unauthorized", 403: 'User "shipyard" cannot list resource "nodes"', 404: "not found", 410: "Gone"}


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as scripted:
        yield scripted


def ask(url: str, **options: Any) -> PeerError:
    """Ask what cannot answer, and return what the port says of it."""
    client = KubernetesClient(Address(url, token=TOKEN), first_pause=0.0, **options)
    with contextlib.closing(client), pytest.raises(PeerError) as caught:
        KubernetesCluster(client).readiness([NodeName("n1")])
    assert (caught.value.system, caught.value.operation) == ("Kubernetes", "GET /api/v1/nodes")
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_what_is_no_list_of_nodes_means_that_nobody_knows(peer: Peer) -> None:
    for title, wrong in WRONG.items():
        peer.on("GET /api/v1/nodes", wrong)
        assert isinstance(ask(peer.url), Unavailable), title


def test_a_refusal_says_what_the_cluster_said_and_a_busy_one_when_to_come_back(peer: Peer) -> None:
    for status, message in REFUSED.items():
        peer.on("GET /api/v1/nodes", Answer(status, {**STATUS, "message": message, "code": status}))
        error = ask(peer.url)
        assert isinstance(error, Refused)
        right = "; Shipyard needs the right to list nodes" if status == 403 else ""
        assert error.detail == f"answered {status}: {message}{right}"
    for status in (429, 503):
        peer.on("GET /api/v1/nodes", Answer(status, "Too many requests\n", {"Retry-After": "7"}))
        error = ask(peer.url)
        assert isinstance(error, Busy)
        assert error.retry_after == 7
    assert len(peer.requests) == len(REFUSED) + 2
