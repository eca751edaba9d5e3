"""Saved state, the MAAS simulator as a program, and python-libmaas as its client."""

import threading
from pathlib import Path

import pytest
import requests

from shipyard_simulators.maas.simulator import running
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.maas.player import ACCOUNTS, API, KEYS, MaasPlayer, simulated
from shipyard_simulators.tests.programs import refusal, started
from shipyard_simulators.tests.waiting import PATIENCE, until


def test_with_a_state_file_machines_outlive_the_simulator(tmp_path: Path) -> None:
    scenario, state = {"machines": {"n1": "Ready", "n2": "Deployed"}}, tmp_path / "maas.json"
    with simulated(scenario, state=state) as maas:
        ids = maas.ids()
        maas.call("POST tags/", {"name": "kept"})
        maas.do("n2", "set_workload_annotations", site="s1")
        maas.do("n1", "deploy", agent_name="a-7")
    with simulated(scenario, state=state) as maas:
        maas.clock.passes(100)
        assert maas.one("n1")["agent_name"] == "a-7"
        assert maas.ids() == ids
        assert maas.one("n2")["workload_annotations"] == {"site": "s1"}
        assert [tag["name"] for tag in maas.get("tags/")] == ["kept"]
        assert maas.changes("n1") == ["Ready", "Allocated", "Deploying", "power on", "Deployed"]
        assert maas.get("events/?op=query&hostname=n1")["events"][0]["type"] == "Deployed"


def test_another_file_is_refused_as_state(tmp_path: Path) -> None:
    state = tmp_path / "maas.json"
    state.write_text("[]")
    with pytest.raises(OSError, match="holds no state"), simulated(state=state):
        pass


def test_a_killed_program_goes_on_where_it_was_and_writes_its_log_without_requests(tmp_path: Path) -> None:
    site, log = tmp_path / "site.yaml", tmp_path / "log.jsonl"
    site.write_text("- {hostname: n1, status: Ready, owner: ''}\n")
    words = ["--site", site, "--log-file", log, "--state", tmp_path / "state.json", "--time-scale", "0.005"]
    words += ["--user-key", f"user={KEYS['user']}"]
    key = {"SIMULATOR_API_KEY": KEYS["shipyard"]}
    with started("maas", tmp_path, *words, **key) as (process, url):
        maas = MaasPlayer(url)
        assert maas.get("users/?op=whoami")["username"] == "shipyard"
        assert maas.get("users/?op=whoami", by="user")["is_superuser"] is False
        assert maas.call("GET machines/", by="root").status == 401
        maas.do("n1", "deploy")
        process.kill()
        process.wait(PATIENCE)
    with started("maas", tmp_path, *words, **key) as (process, url):
        until(lambda: '"to": "Deployed"' in log.read_text())
        assert MaasPlayer(url).one("n1")["owner"] == "shipyard"
        process.terminate()
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert output.startswith(b"MAAS simulator at http://127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--api-key", "only:two"], "three parts"),
        (["--user-key", "a:b:c"], "has no user"),
        (["--site", "/nowhere.yaml"], "cannot be read"),
        (["--state", "/nowhere/state.json"], "there is no directory"),
    ],
)
def test_the_program_names_the_faults_of_its_options(words: list[str], message: str) -> None:
    code, lines = refusal("maas", *words)
    assert (code, message in "".join(lines)) == (2, True), lines


def test_a_foreign_client_drives_it() -> None:
    """MAAS's own client library of old, where it is installed; it builds itself from the description of the API."""
    client = pytest.importorskip("maas.client", reason="python-libmaas is not installed")
    scenario = parse_scenario("{machines: {n1: New, n2: New}, nodes: {n2: {deploy: fail}}}")
    with running(scenario, accounts=ACCOUNTS, time_scale=0.001) as simulator:
        connected = client.connect(f"{simulator.url}/MAAS/", apikey=KEYS["shipyard"])
        machines = {each.hostname: each for each in connected.machines.list()}
        assert sorted(machines) == ["n1", "n2"]
        for machine in machines.values():
            machine.commission(wait=True, wait_interval=0.01)
            assert machine.status_name == "Ready"
        mine = connected.machines.allocate(hostname="n1", agent_name="a-7")
        assert mine.deploy(distro_series="jammy", user_data=b"#cloud-config", wait=True, wait_interval=0.01).owner
        assert mine.status_name == "Deployed"
        assert mine.query_power_state().value == "on"
        with pytest.raises(Exception, match="failed to deploy"):
            machines["n2"].deploy(wait=True, wait_interval=0.01)
        tag = connected.tags.create("control")
        mine.tags.add(tag)
        assert MaasPlayer(simulator.url).one("n1")["tag_names"] == ["control"]
        mine.release(erase=True, quick_erase=True, wait=True, wait_interval=0.01)
        assert mine.status_name == "Ready"
        mine.delete()
        assert [each.hostname for each in connected.machines.list()] == ["n2"]


def test_threads_end_with_the_simulator() -> None:
    before = set(threading.enumerate())
    with running() as simulator:
        assert requests.get(f"{simulator.url}{API}version/", timeout=PATIENCE).ok
    until(lambda: not set(threading.enumerate()) - before)
