"""Faults that the simulator injects, the request log, and concurrent writers."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.deckhand.client import GOOD, Deckhand, Start, doc, error
from shipyard_simulators.tests.waiting import MeetingClock, VirtualClock, until


@pytest.mark.parametrize(
    ("behaviour", "paths", "statuses"),
    [
        (Behaviour(), ("new", "new"), [200, 500]),
        (Behaviour(), ("one", "two"), [200, 200]),
        (GOOD, ("new", "new"), [200, 200]),
        (GOOD, ("one", "two"), [200, 409]),
    ],
    ids=["same-bucket", "same-document", "good-same-bucket", "good-same-document"],
)
def test_writers_that_race(start: Start, behaviour: Behaviour, paths: tuple[str, str], statuses: list[int]):
    clock = MeetingClock(2) if behaviour.racing_writers else VirtualClock()
    deckhand = start(behaviour=behaviour, clock=clock)
    deckhand.faults({"method": "PUT", "path": "/buckets/*", "action": "pause", "seconds": 1})
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda bucket: deckhand.send(bucket, doc("a")), paths))
    assert sorted(answer.status_code for answer in answers) == statuses
    assert all(error(answer)[1] == "DBDuplicateEntry" for answer in answers if answer.status_code == 500)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_errors_by_order(deckhand: Deckhand, status: int):
    deckhand.faults({"method": "GET", "path": "/revisions*", "status": status, "first": 2})
    answers = [deckhand.call("GET", "/revisions") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [status, status, 200]
    assert ("kind: Status" in answers[0].text) == (status == 500)


BREAKAGES = {
    "drop": (requests.ConnectionError, 0),
    "drop_after_effect": (requests.ConnectionError, 1),
    "truncate": (requests.RequestException, 1),
}


@pytest.mark.parametrize(("action", "error_kind", "made"), [(key, *value) for key, value in BREAKAGES.items()])
def test_answers_that_are_lost(deckhand: Deckhand, action: str, error_kind: type[Exception], made: int):
    deckhand.faults({"method": "PUT", "path": "/buckets/*", "action": action, "first": 1})
    with pytest.raises(error_kind):
        deckhand.send("b", doc("a"))
    assert deckhand.get("/revisions")["count"] == made


def test_an_error_after_the_work_was_done(deckhand: Deckhand):
    deckhand.faults({"method": "PUT", "action": "error_after_effect", "status": 503, "first": 1})
    assert deckhand.send("b", doc("a")).status_code == 503
    assert deckhand.get("/revisions")["count"] == 1


def test_slow_answers(start: Start):
    clock = VirtualClock()
    deckhand = start(clock=clock)
    deckhand.faults(
        {"path": "/revisions", "action": "hang", "seconds": 7, "first": 1}, {"action": "delay", "seconds": 3}
    )
    with pytest.raises(requests.ConnectionError):
        deckhand.call("GET", "/revisions")
    assert clock.slept == [7]
    assert deckhand.call("GET", "/revisions").status_code == 200
    assert clock.slept == [7, 3]


def test_faults_of_a_scenario(start: Start):
    scenario = parse_scenario("service: [{method: GET, path: /revisions, status: 503, first: 1}]")
    deckhand = start(scenario=scenario)
    assert [deckhand.call("GET", "/revisions").status_code for _ in range(2)] == [503, 200]


def test_faults_end_when_they_are_deleted(deckhand: Deckhand):
    deckhand.faults({"action": "error"})
    assert deckhand.call("GET", "/revisions").status_code == 500
    assert deckhand.call("DELETE", "/simulator/faults").status_code == 204
    assert deckhand.call("GET", "/revisions").status_code == 200


def test_faults_that_cannot_be_played_are_all_named(deckhand: Deckhand):
    wrong = [{"action": "explode"}, {"status": 200}, {"colour": "red"}]
    answer = deckhand.call("POST", "/simulator/faults", json=wrong)
    assert (answer.status_code, len(answer.json()["faults"])) == (400, 3)


def test_requests_are_logged(start: Start, tmp_path: Path):
    log_file = tmp_path / "log.jsonl"
    deckhand = start(log_file=log_file)
    deckhand.put("b", doc("a"))
    deckhand.call("GET", "/revisions/1?x=y")
    deckhand.faults({"action": "drop"})
    with pytest.raises(requests.ConnectionError):
        deckhand.call("GET", "/revisions")
    until(lambda: len(log_file.read_text().splitlines()) == 3)
    logged = deckhand.call("GET", "/simulator/requests").json()
    assert [(each["method"], each["path"], each["status"], each["fault"]) for each in logged] == [
        ("PUT", "/api/v1.0/buckets/b/documents", 200, None),
        ("GET", "/api/v1.0/revisions/1", 200, None),
        ("GET", "/api/v1.0/revisions", None, "drop"),
    ]
    assert logged[1]["query"] == "x=y"
    assert [json.loads(line) for line in log_file.read_text().splitlines()] == logged == deckhand.simulator.requests()
