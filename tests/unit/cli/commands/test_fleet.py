"""``shipyard fleet``: several sites as one table, whatever becomes of any of them."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from shipyard_api.cli.commands import fleet
from tests.unit.cli.fake_api import FakeApi, Reply
from tests.unit.cli.samples import ID

ACTION = {"id": ID, "name": "deploy_site", "action_lifecycle": "Processing", "dag_status": "running"}
WAITING = {"who": "MAAS", "what": "deploying n1"}
REPORT = {
    "action": {**ACTION, "waiting_for": WAITING},
    "verdict": None,
    "totals": {"nodes": {"total": 5, "success": 3, "failure": 0, "not_started": 2}},
}
READY = {"status": "ready", "checks": [{"name": "database", "status": "ok"}, {"name": "MAAS", "status": "failed"}]}


def site_of(*actions: Mapping[str, Any], report: Mapping[str, Any] = REPORT) -> dict[str, Any]:
    return {
        "GET /health/ready": Reply(200, READY),
        "GET /actions": Reply(200, list(actions)),
        f"GET /actions/{ID}/report": Reply(200, report),
    }


@pytest.fixture
def other() -> Iterator[FakeApi]:
    found = FakeApi()
    found.start()
    yield found
    found.stop()


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def closed() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def written(tmp_path: Any) -> Callable[..., str]:
    def write(**sites: str) -> str:
        path = tmp_path / "fleet.yaml"
        entries = [{"name": name, "url": url, "token_env": "FLEET_TOKEN"} for name, url in sites.items()]
        path.write_text(yaml.safe_dump({"sites": entries}))
        return str(path)

    return write


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_each_site_is_a_line_whatever_becomes_of_the_others(api, other, closed, run, written):
    api.replies = site_of({**ACTION, "name": "test_site", "id": "other"}, ACTION)
    other.replies = site_of()
    path = written(berlin=api.url, dark=closed, oslo=other.url)
    result = run("fleet", "--file", path, FLEET_TOKEN="secret-of-the-fleet")
    assert result.exit_code == 1
    cells = [[cell for cell in line.split("    ") if cell] for line in lines(result.stdout)]
    cells = [[cell.strip() for cell in row] for row in cells]
    assert cells[0] == ["Site", "Health", "Action", "State", "Verdict", "Nodes", "Remark"]
    assert cells[1] == [
        "berlin",
        "ready, failed: MAAS",
        f"deploy_site action/{ID}",
        "Processing",
        "not yet",
        "3 success, 2 not started",
        "waits for MAAS: deploying n1",
    ]
    assert cells[2][:2] == ["dark", "no answer"]
    assert "refused" in cells[2][2]
    assert cells[3] == ["oslo", "ready, failed: MAAS", "none"]
    assert {request.headers["x-auth-token"] for request in api.requests} == {"secret-of-the-fleet"}


def test_the_nodes_are_those_of_the_newest_deployment(api, run, written):
    relabel = {**ACTION, "name": "relabel_nodes", "id": "01RELABEL", "action_lifecycle": "Complete"}
    api.replies = site_of() | {
        "GET /actions": [Reply(200, []), Reply(200, [relabel]), Reply(200, [ACTION])],
        "GET /actions/01RELABEL/report": Reply(200, {"action": relabel, "verdict": "success", "totals": {"nodes": {}}}),
    }
    result = run("fleet", "--file", written(berlin=api.url), "-o", "json", FLEET_TOKEN="x")
    (row,) = json.loads(result.stdout)
    assert (row["action"]["name"], row["nodes"]["success"]) == ("relabel_nodes", 3)
    assert ("name", "deploy_site") in [pair for request in api.requests for pair in request.query]


def test_a_site_that_hangs_has_only_its_time(silent, run, written):
    result = run("fleet", "--file", written(dark=silent), "--timeout", "0.2", "--output=json", FLEET_TOKEN="x")
    (row,) = json.loads(result.stdout)
    assert (result.exit_code, row["site"], row["health"], bool(row["error"])) == (1, "dark", None, True)


def test_scripts_get_the_rows_and_what_is_wrong_with_a_site(api, other, run, written):
    api.replies = site_of(ACTION)
    other.replies = site_of() | {"GET /actions": Reply(403, {"message": "no"}), "GET /health/ready": Reply(404)}
    result = run("fleet", "--file", written(berlin=api.url, oslo=other.url), "-o", "json", FLEET_TOKEN="x")
    berlin, oslo = json.loads(result.stdout)
    assert (berlin["nodes"]["success"], berlin["waiting_for"], berlin["error"]) == (3, WAITING, None)
    assert (oslo["health"], oslo["error"]) == (None, "no access: Unauthorized to perform this action.")
    assert result.exit_code == 1


def test_all_is_well_with_0_and_a_wrong_file_is_2(api, run, written, tmp_path):
    api.replies = site_of(ACTION, report={**REPORT, "verdict": "success"})
    assert run("fleet", "--file", written(a=api.url), FLEET_TOKEN="x").exit_code == 0
    assert run("fleet", SHIPYARD_FLEET=written(a=api.url), FLEET_TOKEN="x").exit_code == 0
    nameless = run("fleet", "--file", written(a=api.url), "-o", "name", FLEET_TOKEN="x")
    assert (nameless.exit_code, "it has no names; use -o json" in nameless.stdout) == (1, True)
    requests = len(api.requests)
    assert run("fleet", "--file", written(a=api.url)).exit_code == 2
    assert run("fleet", "--url", "").exit_code == 2
    assert len(api.requests) == requests


def test_an_installation_names_its_sites_itself(api, run):
    listed = [{"name": name, "url": f"/sites/{name}/", "status": "ok", "detail": ""} for name in ("berlin", "oslo")]
    api.replies = {"GET /sites": Reply(200, {"sites": listed})}
    for name in ("berlin", "oslo"):
        for request, answer in site_of(ACTION).items():
            path = request.removeprefix("GET ")
            api.replies[f"GET /sites/{name}{'' if 'health' in path else '/api/v1.0'}{path}"] = answer
    result = run("fleet", "-o", "json", SHIPYARD_TOKEN="of-all")
    assert [row["site"] for row in json.loads(result.stdout)] == ["berlin", "oslo"]
    assert {row["error"] for row in json.loads(result.stdout)} == {None}
    assert {request.headers.get("x-auth-token") for request in api.requests[1:]} == {"of-all"}

    api.replies = {"GET /sites": Reply(404, {})}
    result = run("fleet")
    assert (result.exit_code, "has one site: name the sites with --file" in result.stderr) == (2, True)


def test_watching_prints_a_line_when_something_changes(other, run, written, monkeypatch):
    other.replies = site_of(ACTION)
    ended = {**REPORT, "action": {**ACTION, "action_lifecycle": "Complete"}, "verdict": "success"}
    other.replies[f"GET /actions/{ID}/report"] = [Reply(200, REPORT), Reply(200, REPORT), Reply(200, ended)]
    shown: list[str] = []

    def until_the_end(line: str) -> None:
        shown.append(line)
        if "Complete" in line:
            raise KeyboardInterrupt

    monkeypatch.setattr(fleet.click, "echo", lambda text="", **_: until_the_end(text))
    result = run("fleet", "--file", written(a=other.url), "--watch", "--interval", "0.1", FLEET_TOKEN="x")
    assert result.exit_code == 130
    assert [line.split(", ")[0] for line in shown[:2]] == ["a", "a"]
    assert ("Processing" in shown[0], "Complete" in shown[1]) == (True, True)
