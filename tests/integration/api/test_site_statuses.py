"""How the provisioner sees the machines: contract shipyard-rest, chapter 10, row by row."""

from dataclasses import dataclass, field
from typing import Any

import falcon
import pytest

from shipyard_api.wiring import bootstrap
from tests.integration.api.conftest import MACHINES, settings
from tests.integration.api.wire import V1, Caller, Site
from tests.peer import Answer

STATUS = {
    "nodes_provision_status": [
        {"hostname": "n1", "status": "Deployed"},
        {"hostname": "n2", "status": "Failed deployment"},
    ]
}
POWER = {"machines_powerstate": [{"hostname": "n1", "power_state": "on"}, {"hostname": "n2", "power_state": "off"}]}
BOTH = STATUS | POWER
ONE, OTHER = "nodes-provision-status", "machines-power-state"


@pytest.mark.parametrize(
    ("query", "expected"), [("", BOTH), (f"filters={OTHER}%2C{ONE}", BOTH), (f"filters={OTHER}", POWER)]
)
def test_drydock_is_asked_once_and_the_status_stands_first(site: Site, query: str, expected: dict[str, Any]) -> None:
    answer = site.viewer.ask("GET", f"{V1}/site_statuses", query=query)

    assert (answer.status, list(answer.json.items())) == (falcon.HTTP_200, list(expected.items()))
    assert len(site.drydock.asked("GET /nodes")) == 1


def test_a_filter_that_is_none_is_refused_before_anybody_is_asked(site: Site) -> None:
    answer = site.viewer.ask("GET", f"{V1}/site_statuses", query=f"filters={ONE},power")

    assert answer.status == falcon.HTTP_400
    (entry,) = answer.json["details"]["messageList"]
    assert entry["message"] == "There is no filter 'power'. It is one of: nodes-provision-status, machines-power-state"
    assert site.drydock.requests == []


@dataclass(frozen=True)
class Trouble:
    """What Drydock does, and what our caller is told; ``answers`` is empty if it hangs up."""

    answers: list[Answer]
    code: str
    says: str
    retry: bool
    query: dict[str, str] = field(default_factory=dict)
    title: str = "Unable to retrieve nodes status"


UNAVAILABLE = falcon.HTTP_503
POWER_TITLE = "Unable to retrieve nodes power-state"
TROUBLES = {
    "broken": Trouble([Answer(500, {"message": "MAAS is away"})], UNAVAILABLE, "answered 500: MAAS is away", True),
    "broken, power first": Trouble([Answer(500)], UNAVAILABLE, "answered 500", True, {"filters": f"{OTHER},{ONE}"}),
    "forbidden": Trouble([Answer(403)], UNAVAILABLE, "it granted this a moment ago", True),
    "forbidden, power": Trouble([Answer(403)], UNAVAILABLE, "answered 403", True, {"filters": OTHER}, POWER_TITLE),
    "token refused": Trouble([Answer(401)], UNAVAILABLE, "answered 401", True),
    "no such address": Trouble([Answer(404)], UNAVAILABLE, "answered 404", True),
    "busy": Trouble([Answer(429)], UNAVAILABLE, "answered 429", True),
    "no JSON": Trouble([Answer(200, "<html>")], UNAVAILABLE, "JSON", True),
    "another shape": Trouble([Answer(200, {"n1": "Ready"})], UNAVAILABLE, "unexpected structure", True),
    "cut off": Trouble([Answer(200, MACHINES, cut=5)], UNAVAILABLE, "GET /nodes", True),
    "hung up": Trouble([], UNAVAILABLE, "GET /nodes", True),
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
def test_a_provisioner_in_trouble_is_told_in_the_words_of_the_contract(site: Site, trouble: Trouble) -> None:
    # It granted the request before; what it never granted is refused (502) in the wire cases machines_refused.
    site.drydock.on("GET /nodes", Answer(200, MACHINES))
    assert site.viewer.get("/site_statuses").status == falcon.HTTP_200
    site.drydock.on("GET /nodes", *trouble.answers)

    answer = site.viewer.get("/site_statuses", **trouble.query)

    said = answer.json
    assert (answer.status, said["message"], said["retry"]) == (trouble.code, trouble.title, trouble.retry)
    assert said["reason"].startswith("Drydock has responded unexpectedly: ")
    assert trouble.says in said["reason"]
    assert said["details"]["errorType"] == "AppError"


def test_a_provisioner_that_recovers_between_two_looks_is_not_in_trouble(site: Site) -> None:
    site.drydock.on("GET /nodes", Answer(503), Answer(200, MACHINES))

    assert site.viewer.get("/site_statuses").json == BOTH


MACHINE = {"hostname": "n1", "status_name": "Ready", "power_state": "unknown"}
SEEN = {
    "no machine": ([], []),
    "no status": ([{"hostname": "n1", "power_state": "on"}], [("n1", "unknown", "on")]),
    "a status that is null": ([MACHINE | {"status_name": None}], [("n1", "unknown", "unknown")]),
    "power in an error": ([MACHINE | {"power_state": "error"}], [("n1", "Ready", "error")]),
    "no power state": ([{"hostname": "n1", "status_name": "New"}], [("n1", "New", "unknown")]),
    "no name": ([{"status_name": "New"}, MACHINE], [("n1", "Ready", "unknown")]),
    "a name of MAAS's": ([MACHINE | {"hostname": "fleet-emu"}], [("fleet-emu", "Ready", "unknown")]),
    "an entry that is none": (["n0", MACHINE], [("n1", "Ready", "unknown")]),
}


@pytest.mark.parametrize(("listed", "expected"), SEEN.values(), ids=SEEN.keys())
def test_machines_of_every_sort(site: Site, listed: Any, expected: list[tuple[str, str, str]]) -> None:
    site.drydock.on("GET /nodes", Answer(200, listed))

    assert site.viewer.get("/site_statuses").json == {
        "nodes_provision_status": [{"hostname": name, "status": status} for name, status, _ in expected],
        "machines_powerstate": [{"hostname": name, "power_state": power} for name, _, power in expected],
    }


def test_no_drydock_at_all(site: Site, shared_url: str) -> None:
    token = site.viewer.client.headers["X-Auth-Token"]
    caller = Caller(bootstrap.api(settings(shared_url)), token)

    answer = caller.get("/site_statuses")

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_503, "Unable to retrieve nodes status")
    assert "no connection to 127.0.0.1:9" in answer.json["reason"]
