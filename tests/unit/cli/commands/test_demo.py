"""``demo`` against a fake stack: a real child process that serves a scripted deployment."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from shipyard_api.cli import stack
from shipyard_api.cli.commands import demo
from tests.unit.cli import fake_api, samples
from tests.unit.tables import every_row, table
from tests.waiting import PATIENCE

EXPECT = """
expect:
  verdict: success
  groups: {ntp-node: {status: failed, reason: prepare}, control-nodes: {status: success}}
"""

SITE = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\n"


@pytest.fixture
def play_child(run, monkeypatch, tmp_path):
    """Run ``demo`` with a scenario of this text and a fake stack as its child, which must be stopped afterwards."""
    monkeypatch.setattr(stack, "PROGRAM", (sys.executable, fake_api.__file__))
    yield player(run, tmp_path)
    pid = tmp_path / "played.pid"
    if pid.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


@pytest.fixture
def play(run, monkeypatch, tmp_path):
    """Run ``demo`` with a scenario of this text and a fake stack in this process."""

    @contextlib.contextmanager
    def running(scenario, speed, provisioner, site, history=None):
        served = fake_api.stack((yaml.safe_load(scenario.read_text()) or {}).get("fake", ""))
        try:
            yield {"url": served.start(), "token": fake_api.TOKEN}
        finally:
            served.stop()

    monkeypatch.setattr(stack, "running", running)
    return player(run, tmp_path)


def player(run, folder):
    scenario, site = folder / "played.yaml", folder / "site.yaml"
    site.write_text(SITE)

    def invoke(text: str, *options: str):
        scenario.write_text(text)
        return run("demo", "--scenario", str(scenario), "--site", str(site), *options)

    return invoke


def test_demo_as_json_is_one_document_of_the_agreed_form(play_child, tmp_path):
    result = play_child(EXPECT, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    seconds = told.pop("seconds")
    assert told == {
        "scenario": str(tmp_path / "played.yaml"),
        "action": samples.action("Complete"),
        "verdict": "success",
        "groups": [
            {"name": "control-nodes", "critical": True, "status": "success", "reason": None},
            {"name": "ntp-node", "critical": False, "status": "failed", "reason": "prepare"},
        ],
        "nodes": [
            {"name": "n1", "status": "success", "reason": None, "group": "control-nodes"},
            {"name": "n2", "status": "failure", "reason": "prepare", "group": "ntp-node"},
        ],
        "provisioner_tasks": [
            {"phase": "prepare", "group": "ntp-node", "nodes": ["n2"], "status": "failure"},
            {"phase": "prepare", "group": "control-nodes", "nodes": ["n1"], "status": "success"},
            {"phase": "deploy", "group": "control-nodes", "nodes": ["n1"], "status": "success"},
        ],
    }
    assert seconds > 0
    assert "group ntp-node is failed" in result.stderr
    assert "Plan: 2 groups, 1 critical" in result.stderr
    assert (tmp_path / "played.stopped").exists()


def test_demo_for_people_ends_with_the_report(play):
    result = play(EXPECT)
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert "\n".join(lines).index(samples.PLAN_TEXT) < result.stdout.index("action deploy_site")
    assert "control-nodes: success\nntp-node: failed (prepare)\n" in result.stdout
    assert "deploy_site: success. 1 of 2 nodes deployed by 3 provisioner tasks; " in result.stdout
    assert result.stdout.rstrip().endswith("ended as expected.")


def test_demo_says_where_its_history_is(play_child, tmp_path):
    file = tmp_path / "run.jsonl"
    result = play_child("{}", "--history", str(file), "--json")
    assert result.exit_code == 0, result.output
    assert f"The history of the run: 2 lines in {file}." in result.stderr


def test_a_stack_that_writes_no_history_is_an_error(play, tmp_path):
    file = tmp_path / "run.jsonl"
    result = play("{}", "--history", str(file))
    assert result.exit_code == 1
    assert f"Error: the stack wrote no history to {file}: No such file or directory" in result.stdout


RESULT = {
    "verdict": "success",
    "groups": [
        {"name": "control-nodes", "status": "success", "reason": None},
        {"name": "ntp-node", "status": "failed", "reason": "prepare"},
    ],
    "nodes": [{"name": "n1", "status": "not_started", "reason": "policy"}],
}
UNEXPECTED = {
    "verdict": ("{verdict: failed}", "the verdict is success, not failed"),
    "reason": ("{groups: {ntp-node: {reason: deploy}}}", "the reason of group ntp-node is prepare, not deploy"),
    "node": ("{nodes: {n1: {status: success}}}", "the status of node n1 is not_started, not success"),
    "no such group": ("{groups: {other: {status: success}}}", "the status of group other is missing, not success"),
}


@every_row(UNEXPECTED)
def test_every_difference_from_the_scenario_is_found(expect, difference):
    assert demo.differences(yaml.safe_load(expect), RESULT) == [difference]


def test_an_end_that_the_scenario_does_not_expect_is_exit_code_1(play):
    result = play("fake: fails")  # a scenario expects success unless it says otherwise
    assert (result.exit_code, "the verdict is failed, not success" in result.stdout) == (1, True)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["people", "json"])
def test_a_refused_design_prints_the_status_and_exits_1(play, options):
    result = play("fake: refuses", *options)
    assert result.exit_code == 1
    assert samples.REFUSED_TEXT in (result.stderr if options else result.stdout)
    assert not (options and result.stdout)


def test_a_stack_that_dies_shows_the_end_of_its_log(play_child):
    result = play_child("fake: dies", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        "Error: the embedded stack ended with exit code 3\n  could not start Postgres:\n  no space left"
        in result.stderr
    )


UNREADABLE = {"not YAML": "a: [", "a list": "- 1", "expect is a word": "expect: yes please"}


@table("text", UNREADABLE)
def test_a_scenario_that_cannot_be_read_starts_nothing(play_child, tmp_path, text):
    result = play_child(text)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"Error: the scenario {tmp_path / 'played.yaml'} ")
    assert not (tmp_path / "played.pid").exists()


DESIGNS = {
    "not YAML": ("a: [", "is invalid because"),
    "a list": ("- 1", "document 1 needs a schema and a metadata.name"),
    "no name": (f"{SITE}---\nschema: a/A/v1\nmetadata: {{}}\n", "document 2 needs a schema and a metadata.name"),
    "no machine": ("schema: a/A/v1\nmetadata: {name: n}\n", "add a document of schema drydock/BaremetalNode/v1"),
}


@table(("text", "says"), DESIGNS)
def test_a_design_that_cannot_be_used_starts_nothing(run, monkeypatch, tmp_path, text, says):
    monkeypatch.setattr(stack, "running", None)
    site = tmp_path / "site.yaml"
    site.write_text(text)
    result = run("demo", "--site", str(site))
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(site) in result.stderr or "no document" in result.stderr
    assert says in result.stderr


def test_an_unknown_scenario_names_those_there_are(run):
    result = run("demo", "--scenario", "no-such-scenario")
    assert result.exit_code == 1
    assert result.stdout.startswith("Error: there is no no-such-scenario.yaml here; there are: ")


def test_ctrl_c_stops_the_demo_and_its_child(tmp_path):
    scenario, site = tmp_path / "played.yaml", tmp_path / "site.yaml"
    scenario.write_text("{}")
    site.write_text(SITE)
    code = """
import signal, sys
from shipyard_api.cli import main, stack
# Whoever runs the tests in the background may have had Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
stack.PROGRAM = (sys.executable, sys.argv.pop(1))
main.main()
"""
    words = ["demo", "--keep", "--scenario", str(scenario), "--site", str(site)]
    root = Path(__file__).parents[4]
    with subprocess.Popen(
        [sys.executable, "-c", code, fake_api.__file__, *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("Ctrl-C stops everything"):
                    break
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        finally:
            process.kill()
    assert (tmp_path / "played.stopped").read_text() == "by SIGTERM"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "played.pid").read_text()), 0)


def test_sigterm_leaves_through_every_finally():
    with pytest.raises(SystemExit) as ended, stack.terminable():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM


def test_a_child_that_does_not_stop_is_ended(monkeypatch):
    monkeypatch.setattr(stack, "STOP_LIMIT", 0.2)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as child:
        child.stdout.readline()
        stack.stop(child)
    assert child.returncode == -signal.SIGKILL
