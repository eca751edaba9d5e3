"""The three worked examples of seed 000 and a real site: each provisioner plays one of them every day.

The first is played by one command, as an operator would; the others by the same programs, forked. What adapters do with
every trouble, the suites of the port and of tests/crash show without processes.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests import run_histories
from tests.acceptance.programs import left_running, marked, run
from tests.conftest import ROOT, site_file
from tests.stand import Stand

SITE = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"

CONTROL, COMPUTE_1, COMPUTE_2, MONITORING, NTP = (
    "control-nodes",
    "compute-nodes-1",
    "compute-nodes-2",
    "monitoring-nodes",
    "ntp-node",
)


# The long tests play the first on all of them.
on_every_provisioner = pytest.mark.parametrize(
    "provisioner",
    ["drydock", pytest.param("maas", marks=pytest.mark.crash), pytest.param("ironic", marks=pytest.mark.crash)],
)


def demo(*words: str, **settings: str) -> dict[str, Any]:
    """Run the demo; it must end as its scenario says, print one JSON document and leave nothing behind.

    Its history must keep every rule of the checker.
    """
    mark, environment = marked()
    environment |= settings
    with TemporaryDirectory() as directory:
        history = Path(directory, "run.jsonl")
        ended = run(["demo", *words, "--json", "--speed", "1000", "--history", str(history)], environment)
        assert ended.returncode == 0, ended.stderr
        assert run_histories.broken(history) == []
    assert left_running(mark) == []
    return dict(json.loads(ended.stdout))


def deployed(directory: Path, database_url: str, provisioner: str, scenario: str) -> dict[str, Any]:
    """Let the site of the examples be deployed; return the action, and its groups and nodes as the API lists them."""
    with Stand(directory, database_url, scenario=scenario, provisioner=provisioner, machines=SITE) as stand:
        stand.commit(SITE.read_bytes())
        stand.start("worker")
        action = stand.deploy_site()
        ended = stand.wait(action)
        return {**ended, "groups": stand.listing(action, "groups"), "nodes": stand.listing(action, "nodes")}


def groups(report: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {group["name"]: (group["status"], group["reason"]) for group in report["groups"]}


def phases(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(task["group"], task["phase"], task["status"]) for task in report["provisioner_tasks"]]


def has_exactly_the_documented_keys(report: dict[str, Any]) -> None:
    assert list(report) == ["scenario", "action", "verdict", "groups", "nodes", "provisioner_tasks", "seconds"]
    assert all(list(group) == ["name", "critical", "status", "reason"] for group in report["groups"])
    assert all(list(node) == ["name", "status", "reason", "group"] for node in report["nodes"])
    assert all(list(task) == ["phase", "group", "nodes", "status"] for task in report["provisioner_tasks"])


@on_every_provisioner
def test_first_example_everything_succeeds(provisioner: str, tmp_path: Path) -> None:
    foreign = tmp_path / "shipyard.conf"
    foreign.write_text("[drydock]\nurl = http://127.0.0.1:9/api/v1.0\ntoken = not-for-you\n")
    report = demo(
        *("--provisioner", provisioner),
        # The demo leaves the database and the settings of somebody else alone.
        DATABASE_URL="postgresql://nobody@127.0.0.1:9/production",
        SHIPYARD_CONFIG=str(foreign),
        SHIPYARD_DRYDOCK_URL="http://127.0.0.1:9/api/v1.0",
    )
    has_exactly_the_documented_keys(report)
    assert report["verdict"] == "success"
    assert set(groups(report).values()) == {("success", None)}
    assert {node["status"] for node in report["nodes"]} == {"success"}
    # Its tasks ran on simulated hosts.
    steps = {step["id"]: step["state"] for step in report["action"]["steps"]}
    assert steps["software.run_task_graph"] == "success"
    order = [group for group, phase, _status in phases(report) if phase == "prepare"]
    assert sorted(order) == sorted([CONTROL, COMPUTE_1, COMPUTE_2, MONITORING, NTP])
    assert order.index(NTP) < order.index(CONTROL) < min(order.index(COMPUTE_1), order.index(COMPUTE_2))
    # A group is prepared and then deployed before another one is taken.
    assert phases(report)[::2] == [(group, "prepare", "success") for group in order]
    assert phases(report)[1::2] == [(group, "deploy", "success") for group in order]


def test_second_example_a_critical_group_fails_in_prepare(tmp_path: Path, database_url: str) -> None:
    action = deployed(tmp_path, database_url, "maas", "ntp-prepare-fails")
    assert (action["verdict"], action["action_lifecycle"]) == ("failed", "Failed")
    assert groups(action) == {
        NTP: ("failed", "prepare"),
        CONTROL: ("failed", "dependency"),
        COMPUTE_1: ("failed", "dependency"),
        COMPUTE_2: ("failed", "dependency"),
        MONITORING: ("success", None),
    }
    begun = {(one["name"], phase["phase"]) for one in action["groups"] for phase in one["phases"] if phase["job"]}
    assert begun == {(NTP, "prepare"), (MONITORING, "prepare"), (MONITORING, "deploy")}
    untouched = {node["name"] for node in action["nodes"] if node["status"] == "not_started"}
    assert untouched == {node["name"] for node in action["nodes"] if node["name"].startswith(("ctl", "cmp"))}


def test_third_example_a_group_that_is_not_critical_fails_in_deploy(tmp_path: Path, database_url: str) -> None:
    action = deployed(tmp_path, database_url, "ironic", "compute-2-deploy-fails")
    assert action["verdict"] == "success"
    assert groups(action) == {
        NTP: ("success", None),
        CONTROL: ("success", None),
        COMPUTE_1: ("success", None),
        COMPUTE_2: ("failed", "deploy"),
        MONITORING: ("success", None),
    }
    failed = {(node["group"], node["reason"]) for node in action["nodes"] if node["status"] == "failure"}
    assert failed == {(COMPUTE_2, "deploy")}


@pytest.mark.crash
def test_a_real_site_is_deployed_from_its_own_documents() -> None:
    site = site_file("seaworthy.yaml")
    report = demo("--site", str(site), "--collection", "design")
    assert report["verdict"] == "success"
    order = [(task["phase"], task["group"], len(task["nodes"])) for task in report["provisioner_tasks"]]
    assert order == [
        ("prepare", "masters", 2),
        ("deploy", "masters", 2),
        ("prepare", "workers", 3),
        ("deploy", "workers", 3),
    ]
    assert [node["status"] for node in report["nodes"]] == ["success"] * 5


@pytest.mark.crash
@pytest.mark.parametrize("scenario", ["canary-stops", "budget-by-rack", "approval-refused", "window-closes"])
def test_a_rollout_policy_stops_what_its_scenario_says(scenario: str) -> None:
    report = demo("--scenario", scenario)
    sent = {node for task in report["provisioner_tasks"] for node in task["nodes"]}
    stopped = {node["name"] for node in report["nodes"] if node["reason"] == "policy"}
    assert len(sent | stopped) == 16
    assert sent.isdisjoint(stopped)


@pytest.mark.crash
@pytest.mark.parametrize(
    ("scenario", "provisioner"),
    [("one-node-late", "drydock"), ("held-and-uncounted", "drydock"), ("burn-in-fails", "ironic")],
)
def test_a_scenario_ends_as_it_says(scenario: str, provisioner: str) -> None:
    assert demo("--scenario", scenario, "--provisioner", provisioner)["verdict"] == "success"
