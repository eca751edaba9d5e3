"""How the provisioner sees the machines: contract shipyard-rest, chapter 10, row by row."""

import falcon

from tests.integration.api.conftest import MACHINES
from tests.integration.api.wire import V1, Site
from tests.peer import Answer
from tests.unit.tables import every_row

STATUS = {
    "nodes_provision_status": [
        {"hostname": "n1", "status": "Deployed"},
        {"hostname": "n2", "status": "Failed deployment"},
    ]
}
POWER = {"machines_powerstate": [{"hostname": "n1", "power_state": "on"}, {"hostname": "n2", "power_state": "off"}]}
BOTH = STATUS | POWER
ONE, OTHER = "nodes-provision-status", "machines-power-state"


def test_drydock_is_asked_once_and_the_status_stands_first(site: Site) -> None:
    for query, expected in (("", BOTH), (f"filters={OTHER}%2C{ONE}", BOTH), (f"filters={OTHER}", POWER)):
        site.drydock.requests.clear()
        answer = site.viewer.ask("GET", f"{V1}/site_statuses", query=query)
        assert (answer.status, list(answer.json.items())) == (falcon.HTTP_200, list(expected.items()))
        assert len(site.drydock.asked("GET /nodes")) == 1
    site.drydock.requests.clear()
    answer = site.viewer.ask("GET", f"{V1}/site_statuses", query=f"filters={ONE},power")
    assert answer.status == falcon.HTTP_400
    (entry,) = answer.json["details"]["messageList"]
    assert entry["message"] == "There is no filter 'power'. It is one of: nodes-provision-status, machines-power-state"
    assert site.drydock.requests == []


STATUS_TITLE, POWER_TITLE = "Unable to retrieve nodes status", "Unable to retrieve nodes power-state"
# What Drydock does, none if it hangs up; what is asked; what our caller is told.
TROUBLES: dict[str, tuple[list[Answer], dict[str, str], str, str]] = {
    "broken, power first": ([Answer(500)], {"filters": f"{OTHER},{ONE}"}, STATUS_TITLE, "answered 500"),
    "forbidden, power": ([Answer(403)], {"filters": OTHER}, POWER_TITLE, "answered 403"),
    "forbidden": ([Answer(403)], {}, STATUS_TITLE, "it granted this a moment ago"),
    "another shape": ([Answer(200, {"n1": "Ready"})], {}, STATUS_TITLE, "unexpected structure"),
    "hung up": ([], {}, STATUS_TITLE, "GET /nodes"),
}


def test_a_provisioner_in_trouble_is_told_in_the_words_of_the_contract(site: Site) -> None:
    """All that its client may meet is in tests/unit/adapters/drydock/test_client.py."""
    # It granted the request before; what it never granted is refused (502) in the wire cases machines_refused.
    assert site.viewer.get("/site_statuses").status == falcon.HTTP_200

    @every_row(TROUBLES)
    def told(answers: list[Answer], query: dict[str, str], title: str, says: str) -> None:
        site.drydock.on("GET /nodes", *answers)
        answer = site.viewer.get("/site_statuses", **query)
        said = answer.json
        assert (answer.status, said["message"], said["retry"]) == (falcon.HTTP_503, title, True)
        assert said["reason"].startswith("Drydock has responded unexpectedly: ")
        assert says in said["reason"]
        assert said["details"]["errorType"] == "AppError"

    told()
    # One that recovers between two looks is not in trouble.
    site.drydock.on("GET /nodes", Answer(503), Answer(200, MACHINES))
    assert site.viewer.get("/site_statuses").json == BOTH


MACHINE = {"hostname": "n1", "status_name": "Ready", "power_state": "unknown"}
SEEN = {
    "no status": ([{"hostname": "n1", "power_state": "on"}], [("n1", "unknown", "on")]),
    "a status that is null": ([MACHINE | {"status_name": None}], [("n1", "unknown", "unknown")]),
    "power in an error": ([MACHINE | {"power_state": "error"}], [("n1", "Ready", "error")]),
    "no name": ([{"status_name": "New"}, MACHINE], [("n1", "Ready", "unknown")]),
    "a name of MAAS's": ([MACHINE | {"hostname": "fleet-emu"}], [("fleet-emu", "Ready", "unknown")]),
    "an entry that is none": (["n0", MACHINE], [("n1", "Ready", "unknown")]),
}


def test_machines_of_every_sort(site: Site) -> None:
    for listed, expected in SEEN.values():
        site.drydock.on("GET /nodes", Answer(200, listed))

        assert site.viewer.get("/site_statuses").json == {
            "nodes_provision_status": [{"hostname": name, "status": status} for name, status, _ in expected],
            "machines_powerstate": [{"hostname": name, "power_state": power} for name, _, power in expected],
        }
