"""What surrounds the command: streams that take nothing, arguments that are no text, answers of another shape."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shipyard_api.cli.main import main
from shipyard_api.cli.output import action_tables
from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID

COMMAND = [sys.executable, "-c", "from shipyard_api.cli.main import main; main()"]


def process(url, *words, redirect="", **environment):
    """Run the command in a shell that redirects its output; return the finished process."""
    given = os.environ | {"SHIPYARD_URL": url, "PYTHONPATH": str(Path(__file__).parents[3])} | environment
    line = ["sh", "-c", f'exec "$@" {redirect}', "sh", *COMMAND, *words]
    return subprocess.run(line, env=given, capture_output=True, timeout=60, check=False)


def test_without_an_output_the_work_is_done(api):
    api.replies["GET /actions"] = Reply(200, [])
    ended = process(api.url, "get", "actions", redirect=">&-")
    assert (ended.returncode, ended.stderr, len(api.requests)) == (0, b"", 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_one_line_and_exit_code_1(api):
    api.replies["GET /actions"] = Reply(200, [])
    ended = process(api.url, "get", "actions", redirect=">/dev/full")
    assert (ended.returncode, ended.stderr) == (1, b"Error: [Errno 28] No space left on device\n")


# Click takes ASCII for a locale that nobody chose, and writes UTF-8.
HELD = {"latin-1": b"a: b?\n\n", "ascii": "a: b\u2026\n\n".encode()}


@pytest.mark.parametrize(("encoding", "written"), HELD.items(), ids=HELD.keys())
def test_what_an_output_cannot_hold_is_replaced(api, run_main, encoding, written):
    api.replies["GET /renderedconfigdocs"] = Reply(200, "a: b\u2026\n".encode(), "application/x-yaml")
    assert run_main("get", "renderedconfigdocs", terminal=False, encoding=encoding) == (written, 0)


@pytest.mark.parametrize("words", [["describe", "node"], ["create", "configdocs", "--empty-collection"], ["--url"]])
def test_an_argument_that_is_not_utf_8_is_a_wrong_command_line(api, run, words):
    result = run(*words, "\udcff")  # as Python passes the byte 0xff
    assert (result.exit_code, result.stdout, api.requests) == (2, "", [])
    assert "Error: The argument '\\udcff' is not UTF-8.\n" in result.stderr


def test_ctrl_c_ends_with_130_and_says_what_may_have_been_done(api):
    asked, left = threading.Event(), threading.Event()

    def hang(_):
        asked.set()
        left.wait(20)
        return Reply(201, {"id": ID})

    api.replies["POST /actions"] = hang
    given = os.environ | {"SHIPYARD_URL": api.url, "PYTHONPATH": str(Path(__file__).parents[3])}
    # Whoever runs the tests in the background may have had Ctrl-C ignored.
    code = "import signal; signal.signal(2, signal.default_int_handler); " + COMMAND[2]
    with subprocess.Popen(
        [sys.executable, "-c", code, "create", "action", "deploy_site"], env=given, stderr=subprocess.PIPE
    ) as running:
        assert asked.wait(20)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)
    left.set()
    assert running.returncode == 130
    assert told == b"It may have been done all the same: look before you ask for it again.\nInterrupted.\n"


SHAPES = {"an object": {"x": 1}, "a list": [], "a text": "x", "nothing": None, "texts": {"nodes": ["n1"]}}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("command", ["watch", "retry"])
def test_an_answer_of_another_shape_is_an_error_and_nothing_is_retried(api, run, command, body):
    path = f"/actions/{ID}/nodes" if command == "retry" else f"/actions/{ID}"
    api.replies[f"GET {path}"] = Reply(200, body)
    result = run(command, ID)
    assert result.exit_code == 1
    assert result.stdout.startswith("Error: ")
    assert isinstance(result.exception, SystemExit)
    assert [request for request in api.requests if request.method == "POST"] == []


def test_groups_of_another_shape_end_the_watch(api, run):
    api.replies |= {
        f"GET /actions/{ID}": Reply(200, samples.action()),
        f"GET /actions/{ID}/groups": Reply(200, {"groups": [{"status": "failed"}], "next": None}),
        f"GET /actions/{ID}/nodes": Reply(200, {"nodes": [], "next": None}),
    }
    result = run("watch", ID)
    assert (result.exit_code, isinstance(result.exception, SystemExit)) == (1, True)
    assert "Error: Unable to invoke action due to: the answer has an unexpected shape" in result.stdout


@pytest.mark.parametrize(
    "words",
    [["describe", "step", "..", "-a", ID], ["stop", "action/.."], ["get", "configdocs", "--collection="],
     ["describe", "node", "."]],
    ids=" ".join,
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_a_wrong_command_line(api, run, words):
    result = run(*words)
    assert (result.exit_code, api.requests) == (2, [])
    assert "names nothing that a server could have." in result.stderr


def test_a_name_and_a_password_without_a_keystone_are_not_sent(api, run):
    result = run("get", "actions", SHIPYARD_TOKEN="", OS_USERNAME="me", OS_PASSWORD="secret-pass")
    assert (result.exit_code, api.requests) == (1, [])
    assert result.stdout.startswith("Error: Missing the Keystone that OS_USERNAME and OS_PASSWORD are for: ")
    assert "secret-pass" not in result.output


def test_debug_tells_of_a_failed_connection(run):
    result = run("--debug", "get", "actions", url="http://127.0.0.1:1")
    assert "GET /actions no answer" in result.stderr
    assert "from http://127.0.0.1:1/api/v1.0" in result.stderr


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x")], ids=["KeyError", "ValueError"])
def test_a_bug_of_ours_is_a_traceback_and_no_odd_answer(api, monkeypatch, capsys, error):
    def broken(_):
        raise error

    api.replies["GET /actions"] = Reply(200, [])
    monkeypatch.setattr(action_tables, "actions", broken)
    monkeypatch.setattr(sys, "argv", ["shipyard", "--url", api.url, "get", "actions"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (1, "")
    assert "Traceback" in printed.err
    assert printed.err.splitlines()[-1].startswith("Internal error: this is a bug in the shipyard command.")
