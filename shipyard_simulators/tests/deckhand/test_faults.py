"""What no story can say: answers that are late, and writers that race."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.tests.deckhand.player import MEDIA_TYPE, document
from shipyard_simulators.tests.in_process import HTTP, unserved
from shipyard_simulators.tests.waiting import MeetingClock, VirtualClock

GOOD = Behaviour().well_behaved()
DOCUMENT = document({"name": "a"})


def send(deckhand: DeckhandSimulator, method: str, path: str, body: Any = None) -> requests.Response:
    """Send a request; JSON is YAML, too."""
    headers = {"X-Auth-Token": "any", "Content-Type": MEDIA_TYPE}
    return HTTP.request(method, deckhand.url + path, data=json.dumps(body), headers=headers)


@pytest.mark.parametrize(
    ("behaviour", "buckets", "statuses"),
    [
        (Behaviour(), ("new", "new"), [200, 500]),
        (Behaviour(), ("one", "two"), [200, 200]),
        (GOOD, ("new", "new"), [200, 200]),
        (GOOD, ("one", "two"), [200, 409]),
    ],
    ids=["same-bucket", "same-document", "good-same-bucket", "good-same-document"],
)
def test_writers_that_race(behaviour: Behaviour, buckets: tuple[str, str], statuses: list[int]):
    clock = MeetingClock(2) if behaviour.racing_writers else VirtualClock()
    with unserved(DeckhandSimulator(behaviour=behaviour, clock=clock)) as deckhand, ThreadPoolExecutor() as pool:
        pause = {"method": "PUT", "path": "/buckets/*", "action": "pause", "seconds": 1}
        assert send(deckhand, "POST", "/simulator/faults", [pause]).status_code == 200
        paths = [f"/api/v1.0/buckets/{bucket}/documents" for bucket in buckets]
        answers = list(pool.map(lambda path: send(deckhand, "PUT", path, DOCUMENT), paths))
    assert sorted(answer.status_code for answer in answers) == statuses
    assert all("errorType: DBDuplicateEntry" in answer.text for answer in answers if answer.status_code == 500)


def test_slow_answers():
    clock = VirtualClock()
    with unserved(DeckhandSimulator(clock=clock)) as deckhand:
        hang = {"path": "/revisions", "action": "hang", "seconds": 7, "first": 1}
        assert send(deckhand, "POST", "/simulator/faults", [hang, {"action": "delay", "seconds": 3}]).ok
        with pytest.raises(requests.ConnectionError):
            send(deckhand, "GET", "/api/v1.0/revisions")
        assert clock.slept == [7]
        assert send(deckhand, "GET", "/api/v1.0/revisions").status_code == 200
        assert clock.slept == [7, 3]
