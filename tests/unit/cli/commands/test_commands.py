"""Each command: what it sends, what it prints, how it exits; and what it refuses before it sends anything."""

import json
import os
import socket
import sys
from typing import cast

import click
import pytest

from shipyard_api import admin, stack, worker
from shipyard_api.cli.commands import programs
from shipyard_api.cli.main import shipyard
from tests.unit.cli import samples
from tests.unit.cli.fake_api import TOKEN, Reply
from tests.unit.cli.samples import ID


def test_every_request_carries_the_global_options(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    result = run("--context-marker", samples.MARKER, "-v", "5", "get", "actions")
    assert result.exit_code == 0
    (request,) = api.requests
    assert (request.method, request.path, request.query) == ("GET", "/api/v1.0/actions", [("verbosity", "5")])
    assert request.headers["x-auth-token"] == TOKEN
    assert request.headers["x-context-marker"] == samples.MARKER


def test_no_token_and_no_marker_are_not_sent(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    run("get", "actions", SHIPYARD_TOKEN="")
    assert not {"x-auth-token", "x-context-marker"} & api.requests[0].headers.keys()


@pytest.mark.parametrize("end", ["", "/", "/api/v1.0", "/api/v1.0/"])
def test_the_address_may_end_in_the_version_or_not(api, run, end):
    api.replies["GET /actions"] = Reply(200, [])
    assert run("--url", api.url + end, "get", "actions").exit_code == 0
    assert api.requests[0].path == "/api/v1.0/actions"


def test_options_beat_the_environment(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    run("--token", "other", "--url", api.url, "get", "actions", SHIPYARD_URL="http://127.0.0.1:1")
    assert api.requests[0].headers["x-auth-token"] == "other"


def test_debug_says_what_was_asked_without_the_token(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    result = run("--debug", "get", "actions")
    assert "GET /actions 200 2 bytes" in result.stderr
    assert "request request-1" in result.stderr
    assert TOKEN not in result.output


CREATED = {"id": ID, "name": "deploy_site", "dag_execution_date": "2026-11-21T01:23:55.745506Z"}


def test_create_action_sends_parameters_as_strings(api, run):
    api.replies["POST /actions"] = Reply(201, CREATED)
    options = ["--param", "a=b=c", "--param", "n=1", "--param", "n=2", "--param", "e="]
    result = run("create", "action", "deploy_site", "--allow-intermediate-commits", *options)
    assert result.exit_code == 0
    assert f"action/{ID}" in result.stdout
    (request,) = api.requests
    assert request.query == [("allow-intermediate-commits", "True"), ("verbosity", "1")]
    assert json.loads(request.body) == {"name": "deploy_site", "parameters": {"a": "b=c", "n": "2", "e": ""}}
    assert "application/json" in request.headers["content-type"]


DESCRIPTIONS = {
    "action": (["action", ID], f"/actions/{ID}"),
    "action/": ([f"action/{ID}"], f"/actions/{ID}"),
    "step": (["step", "drydock_build.verify_site", "-a", ID], f"/actions/{ID}/steps/drydock_build.verify_site"),
    "step/": ([f"step/{ID}/preflight"], f"/actions/{ID}/steps/preflight"),
}


@pytest.mark.parametrize(("words", "path"), DESCRIPTIONS.values(), ids=DESCRIPTIONS.keys())
def test_describe(api, run, words, path):
    api.replies[f"GET {path}"] = Reply(200, samples.action(task_id="preflight"))
    result = run("describe", *words)
    assert (result.exit_code, api.requests[0].path) == (0, f"/api/v1.0{path}")
    assert ID in result.stdout


FAILURES = {
    "401": (Reply(401, {}), "Error: Command requires authentication. Check credential values\n"),
    "403": (Reply(403, {}), "Error: Unauthorized to perform this action.\n"),
    "404": (
        Reply(404, {"message": "Action not found", "reason": f"Unknown Action: {ID}"}),
        f"Error: Action not found\nReason: Unknown Action: {ID}\n",
    ),
    "500": (
        Reply(500, b"<html>\xff", "text/html"),
        f"Error: Unable to decode response. Value: <html>\ufffd\n- Error: 500 from URL (GET /actions/{ID})\n",
    ),
    "503": (Reply(503, {"message": "Later", "reason": "Starting"}), "Error: Later\nReason: Starting\n"),
    "redirect": (
        Reply(302, b""),
        f"Error: Not specified\nReason: status 302\n- Error: 302 from URL (GET /actions/{ID})\n",
    ),
}


@pytest.mark.parametrize(("reply", "text"), FAILURES.values(), ids=FAILURES.keys())
def test_an_error_answer_is_text_on_stdout_and_exit_code_1(api, run, reply, text):
    api.replies[f"GET /actions/{ID}"] = reply
    result = run("describe", "action", ID)
    assert (result.exit_code, result.stdout, result.stderr) == (1, text.replace("URL", api.url), "")


def test_no_connection_is_a_client_error(run):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    result = run("get", "actions", url=url)
    assert result.exit_code == 1
    assert result.stdout.startswith("Error: Client Error: Shipyard GET /actions: no connection to 127.0.0.1:")


ADDRESSES = {
    "none": (
        "",
        "Error: Missing the address of the server: set SHIPYARD_URL or give --url, or name a Keystone that knows it: "
        "set OS_AUTH_URL or give --os-auth-url\n",
    ),
    "no scheme": (
        "localhost:9000",
        "Error: Client Error: a base URL must start with http:// or https:// and name a host\n",
    ),
}


@pytest.mark.parametrize(("address", "text"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_an_address_that_cannot_work_is_said(run, address, text):
    result = run("get", "actions", SHIPYARD_URL=address)
    assert (result.exit_code, result.stdout) == (1, text)


def test_a_token_that_http_forbids_is_refused_without_showing_it(run):
    result = run("get", "actions", SHIPYARD_TOKEN="sécret\n")
    assert result.exit_code == 1
    assert "the header X-Auth-Token holds characters" in result.stdout
    assert "cret" not in result.stdout.replace("secret", "")


USAGE = {
    "unknown action": (
        "create action deploy_sites",
        "Invalid action command.  The action commands available are  deploy_site, update_site, update_software, "
        "redeploy_server, relabel_nodes, test_site",
    ),
    "redeploy without a parameter": (
        "create action redeploy_server",
        'At least one parameter must be specified using --param="<parameter>" with action redeploy_server',
    ),
    "parameter without =": (
        "create action deploy_site --param=verbose",
        "Invalid parameter or parameter format for verbose.  Please utilize the format: "
        "<parameter name>=<parameter value>",
    ),
    "parameter without name": (
        "create action deploy_site --param==1",
        "Invalid parameter or parameter format for =1.",
    ),
    "step without action": ("describe step preflight", "Invalid ID. None is not a valid action ID."),
    "bad step id": ("describe step preflight -a X", "Invalid ID. ID can only be 26 characters."),
    "namespace": ("describe nothing/1/2", "Invalid namespace item. Please utilize one of the following formats"),
    "namespace too short": (f"describe step/{ID}", "Invalid namespace item. Please utilize one of the following"),
    "namespace with nothing in it": (
        "describe action/",
        "Invalid namespace item. Please utilize one of the following",
    ),
    "validation without action": (f"describe validation {ID}", "Invalid ID. None is not a valid action ID."),
    "bad validation id": (f"describe validation/X/{ID}", "Invalid ID. ID can only be 26 characters."),
    "bad id of its action": (f"describe validation/{ID}/X", "Invalid ID. ID can only be 26 characters."),
    "bad note id": (f"describe notedetails/{ID}X", "Invalid ID. ID can only be 26 characters."),
    "workflow without a time": (
        "describe workflow deploy_site",
        "Invalid ID. The ID must cotain a double underscore "  # codespell:ignore cotain
        "separating the workflow name from the execution date",
    ),
    "workflow with a day": (
        "describe workflow/deploy_site__2026-11-21",
        "Invalid ID. The date portion of the ID must conform to YYYY-MM-DDTHH:mm:ss.SSSSSS",
    ),
    "workflow with no time": (
        "describe workflow/deploy_site__now",
        "Invalid ID. The date portion of the ID must conform to YYYY-MM-DDTHH:mm:ss.SSSSSS",
    ),
    "logs of nothing": ("logs nothing", "Invalid namespace item. Please utilize one of the following formats"),
    "logs without action": ("logs step preflight", "Missing option '--action' / '-a'."),
    "word that is no command": ("nosuch", "Missing argument '[TYPE]'."),
    "word that is no verb": (
        f"nosuch action {ID}",
        "Invalid action.  Please enter pause, unpause, or stop.",
    ),
    "word that is no verb of control": (
        f"control halt action/{ID}",
        "Invalid action.  Please enter pause, unpause, or stop.",
    ),
    "word that is named first": ("forecast", "Error: There is no command 'forecast'. `shipyard --help` lists all.\n"),
    "word that is nearly a command": ("retri action/x", "There is no command 'retri'. Did you mean retry?"),
    "shell": ("completion csh", "Invalid value for '{bash|zsh|fish}': "),
    "unknown word": ("describe nothing", "Invalid namespace item. Please utilize one of the following formats"),
    "output format": ("--output-format=xml get actions", "Invalid value for '--output-format': "),
    "verbosity": ("-v 6 get actions", "Invalid value for '--verbosity' / '-v': 6 is not in the range 0<=x<=5."),
    "marker": ("--context-marker=x get actions", "Invalid value for '--context-marker': 'x' is not a valid UUID."),
    "global option behind": ("get actions --debug", "No such option '--debug'."),
    "watch": ("watch X", "Invalid ID. ID can only be 26 characters."),
    "watch interval": (f"watch {ID} --interval=0", "Invalid value for '--interval': "),
    "demo speed": ("demo --speed=0", "Invalid value for '--speed': "),
    "up port": ("up --port=70000", "Invalid value for '--port': "),
} | {
    f"id {name}": (f"describe action {bad}", f"Invalid ID. ID can only {text}")
    for name, (bad, text) in {
        "short": ("X", "be 26 characters."),
        "signs": ("_" * 26, "contain letters and numbers."),
        "not ASCII": ("é" * 26, "contain letters and numbers."),
    }.items()
}


@pytest.mark.parametrize(("line", "text"), USAGE.values(), ids=USAGE.keys())
def test_a_wrong_command_line_is_exit_code_2_and_never_reaches_the_server(api, run, line, text):
    result = run(*line.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    usage, _, rest = result.stderr.partition("\n")
    assert usage.startswith("Usage: shipyard")
    assert "--help' for help.\n\nError: " in rest
    assert text in rest
    assert api.requests == []


def test_shipyard_alone_prints_its_help_and_exits_2(run):
    result = run()
    assert result.exit_code == 2
    assert "Usage: shipyard [OPTIONS] COMMAND [ARGS]..." in result.output


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """Command lines that this process would have become."""
    lines: list[list[str]] = []

    def execv(program: str, arguments: list[str]) -> None:
        assert program == arguments[0] == sys.executable
        lines.append(arguments[1:])
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execv)
    return lines


ADMIN, DRYDOCK = ["-m", "shipyard_api.admin"], ["-m", "shipyard_simulators.drydock"]
UP = ["-m", "shipyard_api.stack", "up"]
STARTED = {
    "worker": ("worker", ["-m", "shipyard_api.worker"]),
    "config check": ("config check", [*ADMIN, "config", "check"]),
    "db new-key": ("db new-key", [*ADMIN, "db", "new-key"]),
    "db rotate-secrets": ("db rotate-secrets", [*ADMIN, "db", "rotate-secrets"]),
    "db upgrade": ("db upgrade", [*ADMIN, "db", "upgrade"]),
    "db current": ("db current", [*ADMIN, "db", "current"]),
    "token create": ("token create --name ops", [*ADMIN, "token", "create", "--name", "ops"]),
    "token create with roles": (
        "token create --role=admin --role peer --name=ops --days 3",
        [*ADMIN, "token", "create", "--name", "ops", "--role", "admin", "--role", "peer", "--days", "3"],
    ),
    "token list": ("token list", [*ADMIN, "token", "list"]),
    "token revoke": ("token revoke ops", [*ADMIN, "token", "revoke", "ops"]),
    "help of a simulator": ("simulate drydock --help", [*DRYDOCK, "--help"]),
    "simulate": ("simulate drydock --port 0 -x", [*DRYDOCK, "--port", "0", "-x"]),
    "up": ("up", UP),
    "up where": (
        "up --port 0 --data-dir D --ready-file F",
        [*UP, "--port", "0", "--data-dir", "D", "--ready-file", "F"],
    ),
    "up what": (
        "up --provisioner drydock --scenario S --speed 50",
        [*UP, "--provisioner", "drydock", "--scenario", "S", "--speed", "50"],
    ),
}


@pytest.mark.parametrize(("line", "arguments"), STARTED.values(), ids=STARTED.keys())
def test_server_commands_become_the_program(run, started, line, arguments):
    assert run(*line.split()).exit_code == 0
    assert started == [arguments]


@pytest.mark.parametrize("line", ["demo", "up", "simulate drydock --port 0"])
def test_without_the_simulators_a_command_says_what_to_install(run, started, monkeypatch, line):
    monkeypatch.setitem(sys.modules, "shipyard_simulators", None)

    result = run(*line.split())

    assert (result.exit_code, result.stdout, started) == (1, "", [])
    assert result.stderr.endswith("pip install 'shipyard[demo]'\n")
    assert result.stderr.count("\n") == 1


def test_help_of_any_command_starts_nothing(run, started):
    for name, command in shipyard.commands.items():
        below = [*command.commands] if isinstance(command, click.Group) and name != "simulate" else []
        for words in ([name], *([name, one] for one in below)):
            result = run(*words, "--help")
            assert (result.exit_code, result.stdout.startswith(f"Usage: shipyard {' '.join(words)}")) == (0, True)
    assert started == []


NOT_FOR_A_PROGRAM = {
    "worker takes nothing": "worker --once",
    "nor words": "worker now",
    "config": "config check --strict",
    "no name": "token create --role admin",
    "days": "token create --name x --days 0",
    "provisioner": "up --provisioner metal",
    "too fast": "up --speed 20000",
    "too slow": "demo --speed 0.01",
    "too fast for a demo": "demo --speed 20000",
    "no such site": "up --site no/such/site.yaml",
}


@pytest.mark.parametrize("line", NOT_FOR_A_PROGRAM.values(), ids=NOT_FOR_A_PROGRAM.keys())
def test_a_wrong_command_line_starts_no_program(run, started, line):
    result = run(*line.split())
    assert (result.exit_code, result.stdout, started) == (2, "", [])
    assert "\n\nError: " in result.stderr


MIRRORED = [
    *((f"{group} {name}", command) for group, part in admin.main.commands.items()
      for name, command in cast("click.Group", part).commands.items()),
    ("up", stack.up),
    ("worker", worker.main),
]  # fmt: skip
OF_THE_PROGRAM = {"temporary", "with_parent"}


@pytest.mark.parametrize(("line", "program"), MIRRORED, ids=[line for line, _ in MIRRORED])
def test_what_a_program_takes_is_declared_alike_in_front_of_it(line, program):
    command: click.Command = shipyard
    for word in line.split():
        command = cast("click.Group", command).commands[word]

    def told(one: click.Parameter) -> dict[str, object]:
        found = one.to_info_dict()
        # Paths become objects there, and what is the default may be said in words here.
        kept = {name: found.get(name) for name in ("opts", "required", "multiple", "nargs", "help", "is_flag")}
        kind = {name: value for name, value in found["type"].items() if name not in ("name", "path_type")}
        return kept | {"type": kind}

    assert {one.name: told(one) for one in command.params} == {
        one.name: told(one) for one in program.params if one.name not in OF_THE_PROGRAM
    }
    theirs = {one.name: one for one in program.params}
    for one in command.params:
        if isinstance(one, click.Option) and not isinstance(one.show_default, str):
            assert one.default == theirs[str(one.name)].default
    if line not in ("up", "worker"):
        assert command.help == program.help


def test_serve_becomes_gunicorn_with_our_configuration(run, started, monkeypatch, tmp_path):
    configuration = tmp_path / "gunicorn.conf.py"
    monkeypatch.setattr(programs, "share", lambda *parts: tmp_path.joinpath(parts[-1]))
    assert run("serve", "--bind", "0.0.0.0:9000").exit_code == 0
    expected = ["-m", "gunicorn", "--no-control-socket", "-c", str(configuration), "--bind", "0.0.0.0:9000"]
    assert started == [[*expected, "shipyard_api.wsgi:app"]]


def test_a_shared_file_is_looked_for_under_the_prefix(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(click.ClickException, match=r"etc/no-such-file is neither in .* nor in "):
        programs.share("etc", "no-such-file")
    shipped = tmp_path / "share" / "shipyard" / "etc" / "no-such-file"
    shipped.parent.mkdir(parents=True)
    shipped.touch()
    assert programs.share("etc", "no-such-file") == shipped


def test_a_program_that_cannot_be_started_is_an_error(run, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    result = run("worker")
    assert result.exit_code == 1
    assert "Error: cannot start shipyard_api.worker with /no/such/python: No such file or directory" in result.stderr
