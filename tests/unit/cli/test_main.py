"""The command as a whole: global options, wrong command lines, help, streams, exit codes."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
import pytest

from shipyard_api.cli.main import main, shipyard
from shipyard_api.cli.output import action_tables
from tests.unit.cli import samples
from tests.unit.cli.fake_api import TOKEN, Reply
from tests.unit.cli.samples import ID
from tests.waiting import PATIENCE


def test_every_request_carries_the_global_options(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    result = run("--context-marker", samples.MARKER, "-v", "5", "get", "actions")
    assert result.exit_code == 0
    (request,) = api.requests
    assert (request.method, request.path, request.query) == ("GET", "/api/v1.0/actions", [("verbosity", "5")])
    assert request.headers["x-auth-token"] == TOKEN
    assert request.headers["x-context-marker"] == samples.MARKER


def test_options_beat_the_environment(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    run("--token", "other", "--url", api.url, "get", "actions", SHIPYARD_URL="http://127.0.0.1:1")
    assert api.requests[0].headers["x-auth-token"] == "other"


ITEM = "Invalid namespace item. Please utilize one of the following formats"
SHORT_ID = "Invalid ID. ID can only be 26 characters."
FILES = 'Please specify one or more filenames using --filename="<filename>" OR one or more directories using'
TWO_OF = "Invalid input. Choose none of --buffer, --committed, --last-site-action and --successful-site-action, which"
ONE_OF = "You may only choose one of the following options: --buffer, --committed, --last-site-action,"
EITHER = (
    "--base-version and --diff-version may not be used with --collection, --buffer, --committed, --last-site-action"
)
USAGE = {
    "create action deploy_sites": "Invalid action command.  The action commands available are  deploy_site, "
    "update_site, update_software, redeploy_server, remove_server, relabel_nodes, service_server, power_cycle, "
    "test_site\n"
    "Did you mean deploy_site?",
    "create action redeploy_server": 'At least one parameter must be specified using --param="<parameter>" with action',
    "create action deploy_site --param=verbose": "Invalid parameter or parameter format for verbose.  Please utilize "
    "the format: <parameter name>=<parameter value>",
    "get actions --limit 1 --last 1": "Give either --limit or --last.",
    # ids
    "describe nothing/1/2": ITEM,
    "describe action/": ITEM,
    "describe node/n1/2": ITEM,
    "describe action X": SHORT_ID,
    f"describe action {'_' * 26}": "Invalid ID. ID can only contain letters and numbers.",
    f"describe action {'é' * 26}": "Invalid ID. ID can only contain letters and numbers.",
    f"describe action step/{ID}": SHORT_ID,
    f"describe notedetails/{ID}X": SHORT_ID,
    "describe workflow deploy_site": "Invalid ID. The ID must cotain a double underscore "  # codespell:ignore cotain
    "separating the workflow name from the execution date",
    "describe workflow/deploy_site__2026-11-21": "Invalid ID. The date portion of the ID must conform to "
    "YYYY-MM-DDTHH:mm:ss.SSSSSS",
    "describe node": "Missing argument 'NAME'.",
    "describe node n1 --before x": SHORT_ID,
    "stop action short": SHORT_ID,
    f"unpause action {'!' * 26}": "Invalid ID. ID can only contain letters and numbers.",
    "retry short": SHORT_ID,
    "release hold short": SHORT_ID,
    "describe step .. -a " + ID: "cannot be a name on the server: give another one.",
    "get configdocs --collection=": "cannot be a name on the server: give another one.",
    # words
    "show nodes n1": "Error: There is no command 'show'. `shipyard --help` lists all.\n",
    "nosuch": "Missing argument '[TYPE]'.",
    f"nosuch action {ID}": "Invalid action.  Please enter pause, unpause, or stop.",
    "retri action/x": "There is no command 'retri'. Did you mean retry?",
    "pause": "A type and id must be entered.",
    "control stop action": "A type and id must be entered.",
    f"reconcile {ID} j1": "Got unexpected extra argument",
    f"set action/{ID} drain-timeout": "drain-timeout",
    "help me": "Invalid topic. Run command 'shipyard help' for a list of  available topics.",
    "hold node n1": "Missing option '--reason'",
    "hold node n1 --reason=x --kind=failed": "Invalid value for '--kind'",
    "hold n1 --reason=x": "node: node/node name",
    "get nodes --status=done": "Invalid value for '--status': 'done' is not one of",
    "get nodes n1 --status failure": "Error: ",
    # documents
    "create configdocs c --append --replace --filename=d/a.yaml": "Either append or replace may be selected",
    "create configdocs c": FILES,
    "create configdocs c --directory=empty": "The directory does not contain any YAML files.",
    "create configdocs c --filename=d/a.yaml --filename=d/e.json": "The file d/e.json is not a YAML file.",
    "commit configdocs -f --dryrun": "Either force or dryrun may be selected but not both.",
    "get configdocs --buffer": TWO_OF,
    "get configdocs -b -c -l": TWO_OF,
    "get configdocs --collection=c -b -c": ONE_OF,
    "get configdocs --base-version=committed -s": EITHER,
    "get configdocs --rendered": "--rendered may only be used with --base-version or --diff-version",
    "explain a/ /data": "DOCUMENT 'a/' is no name",
    "explain a data/x": "PATH 'data/x' is no JSON pointer",
    "explain a /metadata": "write one such as /data/node_labels.",
    "explain a /database": "is no JSON pointer",
    # plans and forecasts
    f"plan deploy_site --retry {ID}": "Give either the NAME of an action, or --retry with the id of one.",
    "plan deploy": "Invalid action command.  The action commands available are  deploy_site, ",
    f"plan --retry {ID} --param=a=b": "With --retry only --force may be used",
    "plan deploy_site --version=next": "Invalid value for '--version': ",
    "forecast": "Give the NAME of an action",
    "forecast deploy_site --failures=drain=0.1": "write a number from 0 to 1",
    "forecast deploy_site --failures=0.1 --failures=deploy=0.1": "give one number, or numbers",
    "forecast deploy_site --criterion=a:percent=5": "write GROUP:NAME=VALUE",
    f"forecast --retry {ID} --param=a=b": "With --retry",
    # programs
    "worker --once": "No such option",
    "config check --strict": "No such option",
    "token create --role admin": "Missing option '--name'",
    "up --provisioner metal": "Invalid value for '--provisioner'",
    "up --speed 20000": "Invalid value for '--speed'",
    "demo --speed 0.01": "Invalid value for '--speed'",
    "up --site no/such/site.yaml": "Invalid value for '--site'",
    # tasks, tags and templates
    "node run ": "NODES '' names no node.",
    "node run": "Give NODES, or --retry with the id of a run.",
    "node run n1 --tasks ": "--tasks '' names no task.",
    "node run n1 --tasks=a -- true": "Give a COMMAND, or options that",
    "node run n1 --tasks=a --skip=b": "Give --tasks or --skip",
    "node run n1 --forks 2": "--forks, --connect-timeout and -b need a COMMAND.",
    f"node run --retry {ID} --noop": "--noop cannot be used with --retry",
    "release tasks sync --dir empty": "Error: ",
    "tag list --cluster 1 --release 1": "not both",
    "deploy-template set CUSTOM_A": "Give --name, --steps or --extra",
    "deploy-template set CUSTOM_A --extra a": "write it as KEY=VALUE",
    "deploy-template create CUSTOM_A": "Missing option '--steps'",
    "deploy-template create CUSTOM_A --steps [] --uuid x": "Invalid value for '--uuid'",
    "deploy-template show ..": "cannot be a name on the server",
}


@pytest.mark.parametrize(("line", "text"), USAGE.items(), ids=USAGE.keys())
def test_a_wrong_command_line_is_exit_code_2_and_never_reaches_the_server(api, run, tmp_path, monkeypatch, line, text):
    for name in ("d/a.yaml", "d/e.json", "empty/readme.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("schema: a\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delattr(os, "execv")  # nothing is started
    result = run(*line.split(" "))
    assert (result.exit_code, result.stdout, api.requests) == (2, "", [])
    usage, _, rest = result.stderr.partition("\n")
    assert usage.startswith("Usage: shipyard")
    assert "--help' for help.\n\nError: " in rest
    assert text in rest


def test_shipyard_alone_prints_its_help_and_exits_2(run):
    result = run()
    assert result.exit_code == 2
    assert "Usage: shipyard [OPTIONS] COMMAND [ARGS]..." in result.output


HANDED_ON = {"simulate"}  # their help is the program's


def commands(group: click.Group = shipyard, *words: str) -> Iterator[tuple[str, ...]]:
    """Every command line there is, groups included."""
    for name, command in group.commands.items():
        yield (*words, name)
        if isinstance(command, click.Group):
            yield from commands(command, *words, name)


def test_every_command_has_help_with_examples_and_starts_nothing_for_it(run, monkeypatch):
    monkeypatch.delattr(os, "execv")
    for words in (words for words in commands() if words[0] not in HANDED_ON or len(words) == 1):
        result = run(*words, "--help")
        assert result.exit_code == 0, words
        _, found, rest = result.stdout.partition("\n  Examples:\n")
        assert found, result.stdout
        examples = rest.partition("\n\n")[0].splitlines()
        assert all("shipyard" in example and len(example) <= 100 for example in examples), examples
        assert any(" ".join(words) in example for example in examples), examples


def examples() -> Iterator[str]:
    for words in [(), *commands()]:
        command: click.Command = shipyard
        for word in words:
            command = cast("click.Group", command).commands[word]
        for line in (command.epilog or "").splitlines():
            yield from re.findall(r"\bshipyard (?!.*`)([^>|)]+)", line)


def test_every_example_can_be_typed(run, monkeypatch, tmp_path):
    """The whole command line is read, paths that it names are there, and nothing is done."""

    def invoke(self: click.Command, ctx: click.Context) -> None:
        if isinstance(self, click.Group) and self.callback:
            ctx.invoke(self.callback, **ctx.params)

    monkeypatch.setattr(click.Command, "invoke", invoke)
    monkeypatch.chdir(tmp_path)
    for line in sorted(set(examples())):
        words = shlex.split(line)
        for word in words:
            path = tmp_path / word.rpartition("=")[2]
            if path.suffix == ".yaml":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            elif word.startswith("--directory="):
                path.mkdir(exist_ok=True)
        result = run(*words)
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_the_help_of_the_whole_lists_every_command_once(run):
    told = [line.split()[0] for line in run("--help").stdout.splitlines() if line.startswith("  ") and line.split()]
    assert [(name, told.count(name)) for name in shipyard.commands if told.count(name) != 1] == []


COMMAND = [sys.executable, "-c", "from shipyard_api.cli.main import main; main()"]


def process(url, *words, redirect="", **environment):
    """Run the command in a shell that redirects its output; return the finished process."""
    given = os.environ | {"SHIPYARD_URL": url, "PYTHONPATH": str(Path(__file__).parents[3])} | environment
    line = ["sh", "-c", f'exec "$@" {redirect}', "sh", *COMMAND, *words]
    return subprocess.run(line, env=given, capture_output=True, timeout=PATIENCE, check=False)


def test_without_an_output_the_work_is_done(api, monkeypatch):
    api.replies["GET /actions"] = Reply(200, [])
    monkeypatch.setattr(sys, "argv", ["shipyard", "--url", api.url, "get", "actions"])
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it after the shell's >&-
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, len(api.requests)) == (0, 1)


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
        left.wait(PATIENCE)
        return Reply(201, {"id": ID})

    api.replies["POST /actions"] = hang
    given = os.environ | {"SHIPYARD_URL": api.url, "PYTHONPATH": str(Path(__file__).parents[3])}
    # Whoever runs the tests in the background may have had Ctrl-C ignored.
    code = "import signal; signal.signal(2, signal.default_int_handler); " + COMMAND[2]
    with subprocess.Popen(
        [sys.executable, "-c", code, "create", "action", "deploy_site"], env=given, stderr=subprocess.PIPE
    ) as running:
        assert asked.wait(PATIENCE)
        running.send_signal(signal.SIGINT)
        try:
            _, told = running.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # Python drops an interruption of what clears up an object
            running.send_signal(signal.SIGINT)
            _, told = running.communicate(timeout=PATIENCE)
    left.set()
    assert running.returncode == 130
    assert told == b"The server may have done it: check before you send it again.\nInterrupted.\n"


def test_a_bug_of_ours_is_a_traceback_and_no_odd_answer(api, monkeypatch, capsys):
    def broken(_):
        raise KeyError("x")

    api.replies["GET /actions"] = Reply(200, [])
    monkeypatch.setattr(action_tables, "actions", broken)
    monkeypatch.setattr(sys, "argv", ["shipyard", "--url", api.url, "get", "actions"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (1, "")
    assert "Traceback" in printed.err
    assert printed.err.splitlines()[-1].startswith("Internal error: this is a bug in the shipyard command.")
