"""Faults of the service, and requests that wait for each other (contract, section 3)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from shipyard_simulators.tests.maas.client import StartMaas
from shipyard_simulators.tests.waiting import MeetingClock


@pytest.mark.parametrize(
    ("fault", "status", "retry_after", "effect"),
    [
        ({"status": 409}, 409, "5", False),
        ({"status": 503}, 503, "10", False),
        ({"status": 500}, 500, None, False),
        ({"status": 504, "action": "error_after_effect"}, 504, None, True),
        ({"status": 500, "action": "error_after_effect"}, 500, None, True),
        ({"action": "drop"}, None, None, False),
        ({"action": "drop_after_effect"}, None, None, True),
        ({"action": "delay", "seconds": 200}, 200, None, True),
        ({"action": "pause", "seconds": 200}, 200, None, True),
    ],
    ids=str,
)
def test_faults_of_the_service(
    start: StartMaas, fault: dict[str, Any], status: int | None, retry_after: str | None, effect: bool
) -> None:
    maas = start("machines: {n1: Ready}")
    system_id = maas.id_of("n1")
    # Only this operation, and only once.
    maas.faults({"method": "POST", "path": "/machines/*/?op=deploy", "first": 1, **fault})
    assert maas.post(f"machines/{system_id}/?op=lock").status_code == 200
    assert maas.post(f"machines/{system_id}/?op=unlock").status_code == 200
    if status is None:
        with pytest.raises(requests.ConnectionError):
            maas.post(f"machines/{system_id}/?op=deploy")
    else:
        answer = maas.post(f"machines/{system_id}/?op=deploy")
        assert (answer.status_code, answer.headers.get("Retry-After")) == (status, retry_after)
    assert (maas.one("n1")["status_name"] != "Ready") is effect
    struck = [each for each in maas.control("GET", "requests") if each["fault"]]
    assert [each["fault"] for each in struck] == [fault.get("action", "error")]


def test_requests_wait_for_their_turn(start: StartMaas) -> None:
    clock = MeetingClock(2)
    maas = start("{machines: {n1-never-bmc: Deployed}, region: {requests_at_once: 2}}", clock=clock)
    system_id = maas.id_of("n1-never-bmc")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: maas.get(f"machines/{system_id}/?op=query_power_state"), range(6)))
    done = [each for each in maas.control("GET", "requests") if each["operation"] == "query_power_state"]
    assert max(each["at_once"] for each in done) == 2


def test_faults_can_be_in_the_scenario_and_are_ended(start: StartMaas) -> None:
    maas = start("service: [{method: GET, path: /machines/, status: 503}]")
    assert maas.call("GET", "machines/").headers["Retry-After"] == "10"
    maas.control("DELETE", "faults")
    assert maas.get("machines/") == []
