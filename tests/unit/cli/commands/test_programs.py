"""Commands that replace the process with a program of an installation."""

import os
import sys
from typing import cast

import click
import pytest

from shipyard_api.cli.commands import programs
from shipyard_api.cli.main import shipyard
from shipyard_api.programs import admin, imports, stack, worker
from tests.unit.tables import every_row, table


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


ADMIN, DRYDOCK = ["-m", "shipyard_api.programs.admin"], ["-m", "shipyard_simulators.drydock"]
UP = ["-m", "shipyard_api.programs.stack", "up"]
STARTED = {
    "worker": ("worker", ["-m", "shipyard_api.programs.worker"]),
    "config check": ("config check", [*ADMIN, "config", "check"]),
    "db upgrade": ("db upgrade", [*ADMIN, "db", "upgrade"]),
    "token create": ("token create --name ops", [*ADMIN, "token", "create", "--name", "ops"]),
    "token create with roles": (
        "token create --role=admin --role peer --name=ops --days 3",
        [*ADMIN, "token", "create", "--name", "ops", "--role", "admin", "--role", "peer", "--days", "3"],
    ),
    "token revoke": ("token revoke ops", [*ADMIN, "token", "revoke", "ops"]),
    "import deckhand": (
        "import deckhand --url http://d:9000/api/v1.0 --dry-run",
        ["-m", "shipyard_api.programs.imports", "deckhand", "--url", "http://d:9000/api/v1.0", "--dry-run"],
    ),
    "simulate": ("simulate drydock --port 0 -x", [*DRYDOCK, "--port", "0", "-x"]),
    "up where": (
        "up --port 0 --data-dir D --ready-file F",
        [*UP, "--port", "0", "--data-dir", "D", "--ready-file", "F"],
    ),
    "up what": (
        "up --provisioner drydock --scenario S --speed 50",
        [*UP, "--provisioner", "drydock", "--scenario", "S", "--speed", "50"],
    ),
}


@table(("line", "arguments"), STARTED)
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


MIRRORED = [
    *((f"{group} {name}", command) for group, part in admin.main.commands.items()
      for name, command in cast("click.Group", part).commands.items()),
    *((f"import {name}", command) for name, command in imports.main.commands.items()),
    ("up", stack.up),
    ("worker", worker.main),
]  # fmt: skip
OF_THE_PROGRAM = {"temporary", "with_parent"}


@every_row(MIRRORED)
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
    assert started == [[*expected, "shipyard_api.programs.asgi:app"]]


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
    assert (
        "Error: cannot start shipyard_api.programs.worker with /no/such/python: No such file or directory"
        in result.stderr
    )
