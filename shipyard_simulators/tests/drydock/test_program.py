"""The Drydock simulator as a program."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.programs import FIVE_GROUPS, ROOT, command, refusal, started
from shipyard_simulators.tests.waiting import PATIENCE, until

NTP_NODE = {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["ntp01"]}]}


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_program_announces_itself_runs_tasks_unasked_and_ends_at_once(
    tmp_path: Path, ending: signal.Signals
) -> None:
    log_file = tmp_path / "log.jsonl"
    body = {"action": "prepare_nodes", "design_ref": FIVE_GROUPS.as_uri(), "node_filter": NTP_NODE}
    with started("drydock", tmp_path, "--log-file", log_file, "--time-scale", "0.001") as (process, url):
        task = HTTP.post(f"{url}/api/v1.0/tasks", json=body).json()
        until(lambda: '"task_ended"' in log_file.read_text())
        assert HTTP.get(f"{url}/api/v1.0/tasks/{task['task_id']}").json()["result"]["successes"] == ["ntp01"]
        log = HTTP.get(f"{url}/simulator/log").json()
        process.send_signal(ending)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert url in out.decode()
    assert [json.loads(line) for line in log_file.read_text().splitlines()] == log
    assert [entry["event"] for entry in log] == [
        "task_requested",
        "design",
        "task_started",
        "node_started",
        "node_prepared",
        "task_ended",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "ready.json"]


def test_the_program_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    child = command("drydock", ready, "--die-with-parent")
    parent_code = f"import subprocess, time; subprocess.Popen({child!r}); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", parent_code], cwd=ROOT, stdout=subprocess.DEVNULL) as parent:
        until(ready.exists)
        simulator = os.pidfd_open(json.loads(ready.read_text())["pid"])
        parent.kill()
    try:
        ended, _, _ = select.select([simulator], [], [], PATIENCE)
        assert ended == [simulator]
    finally:
        os.close(simulator)


def test_every_bad_argument_is_named(tmp_path: Path) -> None:
    scenario = tmp_path / "bad.yaml"
    scenario.write_text("nodes: {n1: {prepare: explode}}\nquirks: {unknown: true}\n")
    words = ["--port", "70000", "--time-scale", "0", "--scenario", str(scenario)]
    code, answered = refusal("drydock", *words, "--log-file", str(tmp_path / "nowhere" / "log"))
    assert (code, len(answered)) == (2, 5)
    for fault in ("--port: 70000", "--time-scale: 0.0", "nodes.n1.prepare", "quirks.unknown", "--log-file:"):
        assert any(fault in line for line in answered)


def test_a_port_that_is_taken_is_said() -> None:
    with DrydockSimulator(Scenario()) as simulator:
        code, lines = refusal("drydock", "--port", simulator.url.rpartition(":")[2])
    assert (code, "in use" in "".join(lines)) == (2, True)
