"""What every cluster promises, asked of each one (ports/cluster.py); and what no answer at all means."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.cluster import KubernetesCluster
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_simulators.kubernetes import simulator as kubernetes_simulator
from shipyard_simulators.scenario import parse_scenario
from tests.contract.cluster_sites import PAGE, READY, SITES, Site, condition
from tests.peer import PATIENT, Answer, Peer, running

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


def test_a_cluster_has_a_name(site: Site) -> None:
    assert site.cluster.name in ("Fake", "Kubernetes")


def test_a_ready_node_is_ready_and_nothing_is_said_of_it(site: Site) -> None:
    found = one(site, site.add("n1", NO_PRESSURE, READY))
    assert (found.ready, found.why, found.joined, found.cordoned) == (True, "", True, False)


def test_a_node_that_is_not_in_the_cluster_is_not_ready(site: Site) -> None:
    assert one(site, site.name("n9")) == ObservedMember(ready=False, why="not in the cluster", joined=False)


@pytest.mark.parametrize("said", [NOT_YET, SILENT], ids=lambda said: said["status"])
def test_a_node_that_is_not_ready_says_why(site: Site, said: dict[str, str]) -> None:
    found = one(site, site.add("n1", NO_PRESSURE, said))
    assert (found.ready, found.why, found.joined) == (False, f"{said['reason']}: {said['message']}", True)


@pytest.mark.parametrize("others", [(NETWORK,), (NETWORK, NO_PRESSURE), (PRESSURE,)], ids=len)
def test_a_node_is_ready_wherever_its_condition_stands(site: Site, others: tuple[dict[str, str], ...]) -> None:
    assert one(site, site.add("n1", NO_PRESSURE, READY, *others)).ready


def test_a_node_is_not_ready_because_its_last_condition_is_true(site: Site) -> None:
    assert not one(site, site.add("n1", NO_PRESSURE, NOT_YET, PRESSURE)).ready


def test_a_node_that_has_not_reported_yet_is_not_ready(site: Site) -> None:
    found = one(site, site.add("n1"))
    assert not found.ready
    assert found.why


def test_a_node_that_is_being_deleted_is_not_ready(site: Site) -> None:
    name = site.add("n1", READY)
    site.hold_and_delete("n1")
    found = one(site, name)
    assert not found.ready
    assert "being deleted" in found.why


def test_a_node_is_found_by_its_name_in_lower_case(site: Site) -> None:
    assert one(site, NodeName(site.add("n1", READY).upper())).ready


def test_a_node_of_another_name_is_found_by_its_hostname(site: Site) -> None:
    assert one(site, site.add("n1.rack-1.example.org", READY, hostname="n1")).ready


def test_exactly_the_nodes_that_were_asked_for_are_answered(site: Site) -> None:
    n1, n2 = site.add("n1", READY), site.add("n2", NOT_YET)
    site.add("n3", READY)
    absent = site.name("n9")
    answer = site.cluster.readiness({n1, n2, absent})
    assert {name: found.ready for name, found in answer.items()} == {n1: True, n2: False, absent: False}


def test_for_no_nodes_the_answer_is_empty(site: Site) -> None:
    assert dict(site.cluster.readiness([])) == {}


def test_nodes_of_all_pages_are_found(site: Site) -> None:
    names = [site.add(f"n{number}", READY if number % 2 else NOT_YET) for number in range(2 * PAGE + 1)]
    answer = site.cluster.readiness(names)
    assert [answer[name].ready for name in names] == [bool(number % 2) for number in range(2 * PAGE + 1)]


def test_asking_changes_nothing(site: Site) -> None:
    name = site.add("n1", SILENT)
    assert one(site, name) == one(site, name)


# The simulator's faults

FAULTS = {
    "an error, twice": ({"status": 500, "first": 2}, None),
    "hanging up, twice": ({"action": "drop", "first": 2}, None),
    "a gateway's error, twice": ({"status": 502, "first": 2}, None),
    "an error": ({"status": 500}, Unavailable),
    "hanging up": ({"action": "drop"}, Unavailable),
    "silence": ({"action": "hang", "seconds": 1}, Unavailable),
    "a bad token": ({"status": 401}, Refused),
    "no right": ({"status": 403}, Refused),
    "too much": ({"status": 429}, Busy),
}


@pytest.mark.parametrize(("fault", "outcome"), FAULTS.values(), ids=FAULTS)
def test_a_cluster_that_fails_at_times_is_asked_again_and_else_the_failure_has_its_kind(
    fault: dict[str, Any], outcome: type[PeerError] | None
) -> None:
    scenario = parse_scenario(yaml.safe_dump({"service": [{"method": "GET", "path": "/nodes", **fault}]}))
    with kubernetes_simulator.running(scenario) as simulator:
        if outcome:
            patience = 0.5 if fault.get("action") == "hang" else PATIENT
            assert type(ask(simulator.url, read_timeout=patience)) in (outcome, *outcome.__subclasses__())
            return
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


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_no_list_of_nodes_means_that_nobody_knows(peer: Peer, wrong: Answer) -> None:
    peer.on("GET /api/v1/nodes", wrong)
    assert isinstance(ask(peer.url), Unavailable)


@pytest.mark.parametrize(("status", "message"), REFUSED.items())
def test_a_refusal_says_what_the_cluster_said(peer: Peer, status: int, message: str) -> None:
    peer.on("GET /api/v1/nodes", Answer(status, {**STATUS, "message": message, "code": status}))
    error = ask(peer.url)
    assert isinstance(error, Refused)
    right = "; Shipyard needs the right to list nodes" if status == 403 else ""
    assert error.detail == f"answered {status}: {message}{right}"
    assert len(peer.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_cluster_says_when_to_come_back(peer: Peer, status: int) -> None:
    peer.on("GET /api/v1/nodes", Answer(status, "Too many requests\n", {"Retry-After": "7"}))
    error = ask(peer.url)
    assert isinstance(error, Busy)
    assert error.retry_after == 7
    assert len(peer.requests) == 1


def test_a_cluster_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        error = ask(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert isinstance(error, Unavailable)
    assert "no connection to 127.0.0.1" in error.detail


def test_a_connection_that_is_reset_in_the_middle_is_unavailable() -> None:
    def half(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b'{"kind": "NodeList"')
        time.sleep(0.05)  # what was sent arrives before the reset that overtakes it
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")

    with answering(half) as url:
        assert isinstance(ask(url), Unavailable)


def test_an_answer_that_does_not_come_in_time_is_unavailable_and_asked_for_once(peer: Peer) -> None:
    peer.on("GET /api/v1/nodes", Answer(hang=True))
    error = ask(peer.url, read_timeout=1.0)
    assert isinstance(error, Unavailable)
    assert "within 1 s" in error.detail
    assert len(peer.requests) == 1


def test_an_answer_that_comes_drop_by_drop_is_given_up() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(100):
                connection.sendall(b" ")
                time.sleep(0.05)

    with answering(drip) as url:
        error = ask(url, read_timeout=0.3)
    assert isinstance(error, Unavailable)
    assert "longer than 0.6 s" in error.detail


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Answer every connection this way, below HTTP, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(65536)
                        answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
