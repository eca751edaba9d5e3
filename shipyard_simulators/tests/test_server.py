"""The server that all simulators share, over real connections to a simulated Drydock."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import requests

from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.held_port import HeldPort
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.server import in_thread
from shipyard_simulators.tests.waiting import PATIENCE, MeetingClock

CLIENTS = 50
DELAYED = "service: [{method: GET, path: /nodes, action: delay, seconds: 1}]"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The API of a simulator whose lists of nodes are answered once all clients wait for one."""
    with in_thread(DrydockSimulator(parse_scenario(DELAYED), clock=MeetingClock(CLIENTS))) as simulator:
        yield f"{simulator.url}/api/v1.0"


def test_a_body_without_a_length_counts_as_none(url: str) -> None:
    body, headers = iter([b'{"action": "verify_site"}']), {"Content-Type": "application/json"}
    answer = requests.post(f"{url}/tasks", data=body, headers=headers, timeout=PATIENCE)
    assert (answer.status_code, answer.json()["message"]) == (500, "Unknown error")


def test_a_large_body_that_is_refused_still_gets_its_answer(url: str) -> None:
    body, headers = b"x" * 5_000_000, {"Content-Type": "text/plain"}
    assert requests.post(f"{url}/tasks", data=body, headers=headers, timeout=PATIENCE).status_code == 500


def test_fifty_clients_are_answered_at_once(url: str) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(lambda _: requests.get(f"{url}/nodes", timeout=PATIENCE).status_code, range(CLIENTS)))
    assert answers == [200] * CLIENTS


def test_a_connection_is_kept_until_the_client_or_the_simulator_ends_it() -> None:
    with in_thread(DrydockSimulator(parse_scenario(""))) as simulator:
        kept = HTTPConnection(urlsplit(simulator.url).netloc, timeout=PATIENCE)
        sockets = []
        for _ in range(2):
            kept.request("GET", "/api/v1.0/tasks")
            kept.getresponse().read()
            sockets.append(kept.sock)
        with closing(HTTPConnection(urlsplit(simulator.url).netloc, timeout=PATIENCE)) as once:
            once.request("GET", "/api/v1.0/tasks", headers={"Connection": "close"})
            assert once.getresponse().will_close
    with closing(kept):
        assert sockets[0] is sockets[1] is not None
        assert sockets[0].recv(1) == b""


def test_a_held_port_is_its_servers_also_while_that_restarts() -> None:
    with HeldPort() as port:
        for _ in range(2):
            with in_thread(DrydockSimulator(parse_scenario(""), port=port.number)) as simulator:
                assert requests.get(f"{simulator.url}/versions", timeout=PATIENCE).ok
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", port.number))
            with pytest.raises(requests.ConnectionError, match="refused"):
                requests.get(f"{simulator.url}/versions", timeout=PATIENCE)
